import CEL
import GraphQLLanguage
import SchemaModel

/// The location of directives in an operation: `@skip`, `@include`, `@check`, `@redact` and `@retired` are each allowed
/// at some of them, all others at none. Source: docs/reference/sql-connect.md §5.1.
enum DirectiveTarget {
    case operation, field, fragment, fragmentDefinition
}

struct SelectionDirectives {
    var inclusion = Inclusion.always
    var checks: [FieldCheck] = []
    var isRedacted = false
}

extension OperationScope {
    func selectionDirectives(
        _ directives: [Directive], at location: DirectiveTarget, in file: SourceFile
    ) -> SelectionDirectives {
        var result = SelectionDirectives()
        for directive in directives {
            let range = FileRange(range: directive.range, file: file)
            directive.checkArguments(in: file, &sink)
            switch directive.name.value {
            case "skip", "include":
                if directives.all(named: directive.name.value).count > 1 {
                    error(.directiveArguments, at: range, "@\(directive.name.value) may be given only once")
                }
                result.inclusion = result.inclusion.and(inclusion(directive, in: file))
            case "check":
                // Checks of fragments apply to the enclosing object and are read there.
                if location == .field, let check = check(directive, in: file) { result.checks.append(check) }
            case "redact":
                if !directive.arguments.isEmpty { error(.redact, at: range, "@redact takes no arguments") }
                if result.isRedacted { error(.redact, at: range, "@redact may be given only once") }
                result.isRedacted = true
            case "retired" where location == .field: checkRetired(directive, in: file)
            default:
                error(
                    .unknownDirective, at: range, "@\(directive.name.value) is not supported here",
                    help: DidYouMean.help(directive.name.value, among: ["skip", "include", "check", "redact"]))
            }
        }
        return result
    }

    /// Returns the checks of the fragments directly in a selection; their `this` is the object selected from.
    func fragmentChecks(in set: SelectionSet, _ enclosing: Inclusion, _ file: SourceFile) -> [FieldCheck] {
        var visited: Set<String> = []
        return fragmentChecks(in: set, enclosing, file, &visited)
    }

    private func fragmentChecks(
        in set: SelectionSet, _ enclosing: Inclusion, _ file: SourceFile, _ visited: inout Set<String>
    ) -> [FieldCheck] {
        var checks: [FieldCheck] = []
        for selection in set.selections {
            let inner: SelectionSet
            var innerFile = file
            var definition: [Directive] = []
            switch selection {
            case .field: continue
            case .inlineFragment(let fragment): inner = fragment.selectionSet
            case .fragmentSpread(let spread):
                guard let fragment = fragments[spread.name.value], !fragment.isCyclic,
                    visited.insert(spread.name.value).inserted
                else { continue }
                inner = fragment.definition.selectionSet
                innerFile = fragment.file
                definition = fragment.definition.directives
            }
            let inclusion = enclosing.and(
                selectionDirectives(selection.directives, at: .fragment, in: file).inclusion)
            for (directives, file) in [(selection.directives, file), (definition, innerFile)] {
                checks += directives.all(named: "check").compactMap { check($0, in: file) }.map {
                    FieldCheck(
                        program: $0.program, message: $0.message, isOptional: $0.isOptional, inclusion: inclusion)
                }
            }
            checks += fragmentChecks(in: inner, inclusion, innerFile, &visited)
        }
        return checks
    }

    /// Returns the checks of the operation as a whole: its own and those of fragments at the root.
    func rootPolicy() -> FieldPolicy {
        let own = operation.directives.all(named: "check").compactMap { check($0, in: file) }
        return FieldPolicy(checks: own + fragmentChecks(in: operation.selectionSet, .always, file))
    }

    /// Resolves `@check(expr:message:optional:)`; returns nil after a diagnostic.
    func check(_ directive: Directive, in file: SourceFile) -> FieldCheck? {
        var text = FieldCheck.expressionDefault
        var message = FieldCheck.messageDefault
        var isOptional = false
        var textRange = FileRange(range: directive.range, file: file)
        for argument in directive.arguments {
            let range = FileRange(range: argument.value.range, file: file)
            switch argument.name.value {
            case "expr":
                guard let given = argument.value.stringValue else {
                    error(.check, at: range, "expected a string with a CEL expression")
                    return nil
                }
                (text, textRange) = (given, range)
            case "message":
                guard let given = argument.value.stringValue else {
                    error(.check, at: range, "\"message\" must be a string literal")
                    return nil
                }
                message = given
            case "optional":
                guard let given = argument.value.boolValue else {
                    error(.check, at: range, "\"optional\" must be a literal true or false")
                    return nil
                }
                isOptional = given
            default:
                error(
                    .unknownArgument, at: FileRange(range: argument.name.range, file: file),
                    "@check has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["expr", "message", "optional"]))
            }
        }
        guard let program = expression(text, expecting: .bool, at: textRange, in: .check) else { return nil }
        findings.checks.append(program)
        return FieldCheck(program: program, message: message, isOptional: isOptional, inclusion: .always)
    }

    /// Checks `@retired(reason:)`, which informs people and generators only; the operation still runs for existing
    /// clients.
    func checkRetired(_ directive: Directive, in file: SourceFile) {
        for argument in directive.arguments {
            if argument.name.value != "reason" {
                error(
                    .unknownArgument, at: FileRange(range: argument.name.range, file: file),
                    "@retired has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["reason"]))
            } else if argument.value.stringValue == nil {
                error(
                    .valueType, at: FileRange(range: argument.value.range, file: file), "\"reason\" must be a string")
            }
        }
    }

    // MARK: @skip and @include

    private func inclusion(_ directive: Directive, in file: SourceFile) -> Inclusion {
        let name = directive.name.value
        guard directive.arguments.count == 1, let argument = directive.arguments.first, argument.name.value == "if"
        else {
            error(
                .directiveArguments, at: FileRange(range: directive.range, file: file),
                "@\(name) takes exactly the argument \"if\"")
            return .always
        }
        return test(argument.value, expected: name == "include", in: file)
    }

    private func test(_ value: GraphQLLanguage.Value, expected: Bool, in file: SourceFile) -> Inclusion {
        let range = FileRange(range: value.range, file: file)
        switch value.kind {
        case .boolean(let flag): return flag == expected ? .always : .never
        case .variable(let name):
            guard let variable = use(variable: name, at: range) else { return .always }
            guard variable.type.accepts(in: .nonNull(.scalar(.boolean)), hasDefault: variable.defaultValue != nil)
            else {
                mismatch(variable, expected: "Boolean!", at: range)
                return .always
            }
            return Inclusion(alternatives: [[.init(variable: name, expected: expected)]])
        default:
            error(.valueType, at: range, "expected true, false or a variable of type Boolean!")
            return .always
        }
    }
}
