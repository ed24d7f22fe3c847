@testable import GraphQLLanguage
import SeededRandom

/// Random documents with every kind of node, from a seed. Trees are such as the parser can produce (block strings hold
/// what a block string can hold), so that printing and parsing must give them back.
struct DocumentGenerator {
    var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func document() -> Document {
        Document(definitions: list(1...5) { $0.definition() })
    }

    mutating func value(depth: Int, isConstant: Bool) -> Value {
        switch random.below(depth > 0 ? 10 : 8) {
        case 0: Value(.int(["0", "-0", "7", "-12", "123456789012345678901234567890"].randomElement(using: &random)!))
        case 1: Value(.float(["0.5", "-1.25e10", "3E+2", "0e-7"].randomElement(using: &random)!))
        case 2: Value(.string(text(), block: false))
        case 3: Value(.string(blockText(), block: true))
        case 4: Value(.boolean(random.chance(50)))
        case 5: Value(.null)
        case 6: Value(.enum("E" + name().value))
        case 7: isConstant ? Value(.null) : Value(.variable(name().value))
        case 8: Value(.list(list(0...3) { $0.value(depth: depth - 1, isConstant: isConstant) }))
        default:
            Value(
                .object(
                    list(0...3) {
                        ObjectField(name: $0.name(), value: $0.value(depth: depth - 1, isConstant: isConstant))
                    }))
        }
    }

    private mutating func definition() -> Definition {
        let isExtension = random.chance(30)
        let about = isExtension ? nil : description()
        switch random.below(11) {
        case 0, 1: return .operation(operation())
        case 2:
            return .fragment(
                FragmentDefinition(
                    name: name(), description: description(), typeCondition: name(),
                    directives: directives(isConstant: false), selectionSet: selectionSet(depth: 3)))
        case 3:
            return .schema(
                SchemaDefinition(
                    description: about, directives: directives(isConstant: true),
                    operationTypes: list(1...3) {
                        OperationTypeDefinition(
                            operation: OperationKind.allCases.randomElement(using: &$0.random)!, type: $0.name())
                    }, isExtension: isExtension))
        case 4:
            return .scalar(
                ScalarTypeDefinition(
                    description: about, name: name(),
                    directives: directives(isConstant: true) + (isExtension ? [Directive(name: Name("d"))] : []),
                    isExtension: isExtension))
        case 5:
            return .object(
                ObjectTypeDefinition(
                    description: about, name: name(), interfaces: list(0...2) { $0.name() },
                    directives: directives(isConstant: true),
                    fields: list(isExtension ? 1...3 : 0...3) { $0.fieldDefinition() }, isExtension: isExtension))
        case 6:
            return .interface(
                InterfaceTypeDefinition(
                    description: about, name: name(), interfaces: list(0...2) { $0.name() },
                    directives: directives(isConstant: true),
                    fields: list(isExtension ? 1...3 : 0...3) { $0.fieldDefinition() }, isExtension: isExtension))
        case 7:
            return .union(
                UnionTypeDefinition(
                    description: about, name: name(), directives: directives(isConstant: true),
                    types: list(isExtension ? 1...3 : 0...3) { $0.name() }, isExtension: isExtension))
        case 8:
            return .enum(
                EnumTypeDefinition(
                    description: about, name: name(), directives: directives(isConstant: true),
                    values: list(isExtension ? 1...3 : 0...3) {
                        EnumValueDefinition(
                            description: $0.description(), name: Name("V" + $0.name().value),
                            directives: $0.directives(isConstant: true))
                    }, isExtension: isExtension))
        case 9:
            return .inputObject(
                InputObjectTypeDefinition(
                    description: about, name: name(), directives: directives(isConstant: true),
                    fields: list(isExtension ? 1...3 : 0...3) { $0.inputValue() }, isExtension: isExtension))
        default:
            return .directive(
                DirectiveDefinition(
                    description: description(), name: name(), arguments: list(0...2) { $0.inputValue() },
                    isRepeatable: random.chance(50),
                    locations: list(1...3) { DirectiveLocation.allCases.randomElement(using: &$0.random)! }))
        }
    }

    mutating func operation() -> OperationDefinition {
        let isShorthand = random.chance(20)
        return OperationDefinition(
            kind: isShorthand ? .query : OperationKind.allCases.randomElement(using: &random)!,
            name: isShorthand || random.chance(20) ? nil : name(), description: isShorthand ? nil : description(),
            variables: isShorthand
                ? []
                : list(0...3) {
                    VariableDefinition(
                        name: $0.name(), description: $0.description(), type: $0.type(depth: 3),
                        defaultValue: $0.random.chance(30) ? $0.value(depth: 2, isConstant: true) : nil,
                        directives: $0.directives(isConstant: true))
                }, directives: isShorthand ? [] : directives(isConstant: false),
            selectionSet: selectionSet(depth: 3))
    }

    private mutating func selectionSet(depth: Int) -> SelectionSet {
        SelectionSet(
            list(1...3) { generator in
                switch generator.random.below(depth > 0 ? 8 : 4) {
                case 0:
                    // Any name but `on`.
                    return .fragmentSpread(
                        FragmentSpread(
                            name: Name("F" + generator.name().value),
                            directives: generator.directives(isConstant: false)))
                case 7:
                    return .inlineFragment(
                        InlineFragment(
                            typeCondition: generator.random.chance(50) ? generator.name() : nil,
                            directives: generator.directives(isConstant: false),
                            selectionSet: generator.selectionSet(depth: depth - 1)))
                default:
                    return .field(
                        Field(
                            alias: generator.random.chance(20) ? generator.name() : nil, name: generator.name(),
                            arguments: generator.arguments(isConstant: false),
                            directives: generator.directives(isConstant: false),
                            selectionSet: depth > 0 && generator.random.chance(40)
                                ? generator.selectionSet(depth: depth - 1) : nil))
                }
            })
    }

    private mutating func fieldDefinition() -> FieldDefinition {
        FieldDefinition(
            description: description(), name: name(), arguments: list(0...2) { $0.inputValue() },
            type: type(depth: 3), directives: directives(isConstant: true))
    }

    private mutating func inputValue() -> InputValueDefinition {
        InputValueDefinition(
            description: description(), name: name(), type: type(depth: 2),
            defaultValue: random.chance(30) ? value(depth: 2, isConstant: true) : nil,
            directives: directives(isConstant: true))
    }

    private mutating func type(depth: Int) -> TypeReference {
        let base =
            depth > 0 && random.chance(30)
            ? TypeReference(.list(type(depth: depth - 1))) : TypeReference(.named(name().value))
        return random.chance(40) ? TypeReference(.nonNull(base)) : base
    }

    private mutating func directives(isConstant: Bool) -> [Directive] {
        guard random.chance(25) else { return [] }
        return list(1...2) { Directive(name: $0.name(), arguments: $0.arguments(isConstant: isConstant)) }
    }

    private mutating func arguments(isConstant: Bool) -> [Argument] {
        guard random.chance(30) else { return [] }
        return list(1...3) { Argument(name: $0.name(), value: $0.value(depth: 2, isConstant: isConstant)) }
    }

    private mutating func description() -> Description? {
        guard random.chance(20) else { return nil }
        return random.chance(50) ? Description(blockText(), isBlock: true) : Description(text())
    }

    /// Keywords among them: the grammar allows them nearly everywhere.
    private mutating func name() -> Name {
        let names = ["a", "b9", "_", "Barn", "type", "query", "fragment", "implements", "input", "extend", "__x_1"]
        return Name(names.randomElement(using: &random)!)
    }

    private mutating func text() -> String {
        let parts = [
            "a", "é", "🌾", "\"", "\\", "\n", "\r", "\t", "\u{0}", "\u{7F}", "\u{FEFF}", " ", "{", "#", "\"\"\"",
        ]
        return list(0...6) { parts.randomElement(using: &$0.random)! }.joined()
    }

    /// The value of a random block string.
    mutating func blockText() -> String {
        let parts = ["a", "b", "\n", "\n", "  ", "\t", " ", "\"", "\"\"\"", "\\", "é", "#", "\r"]
        return BlockString.value(
            ofRaw: list(0...12) { parts.randomElement(using: &$0.random)! }.joined().utf8.map { $0 })
    }

    private mutating func list<Item>(
        _ counts: ClosedRange<Int>, _ item: (inout DocumentGenerator) -> Item
    ) -> [Item] {
        (0..<Int.random(in: counts, using: &random)).map { _ in item(&self) }
    }
}
