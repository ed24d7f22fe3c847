/// Prints one operation for `firebase_data_connect`: a builder of variables, and immutable classes for results, keys
/// and variables.
struct DartOperation {
    let connector: ConnectorDescription
    let operation: OperationDescription

    static func builder(of operation: OperationDescription) -> String {
        Naming.pascal(operation.name) + "VariablesBuilder"
    }

    private var prefix: String { Naming.pascal(operation.name) }
    private var data: String { prefix + "Data" }
    private var variables: String { operation.variables.isEmpty ? "void" : prefix + "Variables" }
    private var builder: String { Self.builder(of: operation) }

    func variableType(_ variable: VariableDescription) -> String {
        DartText.type(variable.type, object: object(of: variable))
    }

    /// The class for a key in a variable: `GetMovieVariablesKey`.
    private func object(of variable: VariableDescription) -> String {
        prefix + "Variables" + Naming.pascal(variable.name)
    }

    func declare(in writer: inout CodeWriter) {
        declareBuilder(in: &writer)
        var classes: [DartClass] = []
        collect(operation.result, as: data, into: &classes)
        for variable in operation.variables {
            guard let key = variable.type.keyTypeName else { continue }
            collectKey(key, as: object(of: variable), into: &classes)
        }
        for type in classes {
            writer.line()
            type.declare(in: &writer)
        }
        if !operation.variables.isEmpty {
            writer.line()
            declareVariables(in: &writer)
        }
    }

    // MARK: Classes of the result

    /// Adds the classes inside an object, then its own.
    private func collect(_ shape: ObjectShape, as name: String, into classes: inout [DartClass]) {
        let prefix = name == data ? self.prefix : name
        var taken: Set<String> = ["hashCode", "json", "noSuchMethod", "other", "runtimeType", "toJson", "toString"]
        let members = shape.fields.map { field in
            let object = prefix + Naming.pascal(field.name)
            if let inner = field.type.shape {
                collect(inner, as: object, into: &classes)
            } else if let key = field.type.keyTypeName {
                collectKey(key, as: object, into: &classes)
            }
            return DartClass.Member(
                jsonName: field.name, name: Naming.unique(DartText.name(field.name), &taken), type: field.type,
                object: object, isNullable: field.isNullable || field.mayBeAbsent)
        }
        classes.append(DartClass(name: name, members: members))
    }

    private func collectKey(_ typeName: String, as name: String, into classes: inout [DartClass]) {
        let fields = connector.key(of: typeName)?.fields ?? []
        classes.append(
            DartClass(
                name: name,
                members: fields.map {
                    DartClass.Member(
                        jsonName: $0.name, name: DartText.name($0.name), type: $0.type, object: "", isNullable: false)
                }))
    }

    // MARK: Builder

    private func declareBuilder(in writer: inout CodeWriter) {
        let kind = operation.kind == .query ? "Query" : "Mutation"
        let result = operation.kind == .query ? "QueryResult" : "OperationResult"
        writer.documentation(operation.documentation, prefix: "/// ")
        writer.block("class \(builder) {") { writer in
            for variable in operation.variables {
                writer.line(
                    variable.isRequired
                        ? "\(variableType(variable)) \(DartText.memberName(variable.name));"
                        : makeOptional(variable, writer))
            }
            if !operation.variables.isEmpty { writer.line() }
            writer.line("final FirebaseDataConnect _dataConnect;")
            for variable in operation.optionalVariables {
                writer.line()
                writer.block("\(builder) \(DartText.memberName(variable.name))(\(variableType(variable))? t) {") {
                    writer in
                    writer.line("_\(variable.name).value = t;")
                    writer.line("return this;")
                }
            }
            writer.line()
            let parameters = operation.requiredVariables.map { "required this.\(DartText.memberName($0.name))" }
            writer.line(
                parameters.isEmpty
                    ? "\(builder)(this._dataConnect);"
                    : writer.wrapping("\(builder)(this._dataConnect, {", parameters, "});", mayTrail: true))
            writer.line()
            writer.line("Deserializer<\(data)> dataDeserializer =")
            writer.line("    (dynamic json) => \(data).fromJson(jsonDecode(json));")
            if !operation.variables.isEmpty {
                writer.line("Serializer<\(variables)> varsSerializer =")
                writer.line("    (\(variables) vars) => jsonEncode(vars.toJson());")
            }
            writer.line()
            let types = "\(data), \(variables)"
            if operation.kind == .query {
                writer.block(
                    "Future<\(result)<\(types)>> execute({\n"
                        + "  QueryFetchPolicy fetchPolicy = QueryFetchPolicy.preferCache,\n}) {"
                ) { $0.line("return ref().execute(fetchPolicy: fetchPolicy);") }
            } else {
                writer.block("Future<\(result)<\(types)>> execute() {") { $0.line("return ref().execute();") }
            }
            writer.line()
            writer.block("\(kind)Ref<\(types)> ref() {") { writer in
                let method = operation.kind.rawValue
                let name = DartText.literal(operation.name)
                guard !operation.variables.isEmpty else {
                    writer.line("return _dataConnect.\(method)(\(name), dataDeserializer, emptySerializer, null);")
                    return
                }
                writer.block("final vars = \(variables)(", ");") { writer in
                    for variable in operation.variables {
                        let name = DartText.memberName(variable.name)
                        writer.line("\(name): \(variable.isRequired ? name : "_\(variable.name)"),")
                    }
                }
                writer.line("return _dataConnect.\(method)(\(name), dataDeserializer, varsSerializer, vars);")
            }
        }
    }

    private func optional(_ variable: VariableDescription) -> String { "Optional<\(variableType(variable))>" }

    private func makeOptional(_ variable: VariableDescription, _ writer: CodeWriter) -> String {
        let object = object(of: variable)
        return writer.wrapping(
            "final \(optional(variable)) _\(variable.name) = Optional.optional(",
            [DartText.reader(variable.type, object: object), DartText.writer(variable.type, object: object)], ");",
            mayTrail: true)
    }

    // MARK: Variables

    private func declareVariables(in writer: inout CodeWriter) {
        let all = operation.variables
        writer.line("@immutable")
        writer.block("class \(variables) {") { writer in
            for variable in all {
                let name = DartText.memberName(variable.name)
                writer.documentation(variable.documentation, prefix: "/// ")
                writer.line("final \(variable.isRequired ? variableType(variable) : optional(variable)) \(name);")
            }
            writer.line()
            let parameters = all.map { "required this.\(DartText.memberName($0.name))" }
            writer.line(writer.wrapping("const \(variables)({", parameters, "});", mayTrail: true))
            writer.line()
            let names = all.map { DartText.memberName($0.name) }
            DartClass.equality(variables, names.map { "other.\($0) == \($0)" }, names, in: &writer)
            writer.line()
            writer.block("Map<String, dynamic> toJson() {") { writer in
                writer.line("final json = <String, dynamic>{};")
                for variable in all {
                    let name = DartText.memberName(variable.name)
                    let key = DartText.literal(variable.name)
                    if variable.isRequired {
                        let value = DartText.writing(variable.type, name, object: object(of: variable))
                        writer.line("json[\(key)] = \(value);")
                    } else {
                        writer.block("if (\(name).state == OptionalState.set) {") {
                            $0.line("json[\(key)] = \(name).toJson();")
                        }
                    }
                }
                writer.line("return json;")
            }
        }
    }
}

extension ValueType {
    /// The table whose key this is, inside lists; nil for other types.
    var keyTypeName: String? {
        switch self {
        case .key(let typeName): typeName
        case .list(let element, _): element.keyTypeName
        case .scalar, .enumeration, .input, .object: nil
        }
    }
}

/// An immutable class of Dart with `fromJson` and `toJson`, equal by all its fields.
struct DartClass {
    struct Member {
        var jsonName: String
        var name: String
        var type: ValueType
        /// The class for an object or key.
        var object: String
        var isNullable: Bool

        var isList: Bool {
            switch type {
            case .list, .scalar(.vector): true
            default: false
            }
        }
    }

    let name: String
    let members: [Member]

    func declare(in writer: inout CodeWriter) {
        writer.line("@immutable")
        writer.block("class \(name) {") { writer in
            for member in members {
                let type = DartText.type(member.type, object: member.object)
                writer.line("final \(type)\(member.isNullable ? "?" : "") \(member.name);")
            }
            if !members.isEmpty { writer.line() }
            declareReading(in: &writer)
            writer.line()
            let parameters = members.map { "\($0.isNullable ? "" : "required ")this.\($0.name)" }
            writer.line(
                parameters.isEmpty
                    ? "const \(name)();" : writer.wrapping("const \(name)({", parameters, "});", mayTrail: true))
            writer.line()
            Self.equality(name, members, in: &writer)
            writer.line()
            writer.block("Map<String, dynamic> toJson() {") { writer in
                writer.line("final json = <String, dynamic>{};")
                for member in members {
                    let key = DartText.literal(member.jsonName)
                    let value = member.isNullable ? "\(member.name)!" : member.name
                    let writing = "json[\(key)] = \(DartText.writing(member.type, value, object: member.object));"
                    if member.isNullable {
                        writer.block("if (\(member.name) != null) {") { $0.line(writing) }
                    } else {
                        writer.line(writing)
                    }
                }
                writer.line("return json;")
            }
        }
    }

    private func declareReading(in writer: inout CodeWriter) {
        guard !members.isEmpty else {
            writer.line("\(name).fromJson(dynamic json);")
            return
        }
        writer.line("\(name).fromJson(dynamic json)")
        for (index, member) in members.enumerated() {
            let source = "json[\(DartText.literal(member.jsonName))]"
            let reading = DartText.reading(member.type, source, object: member.object)
            let value = member.isNullable ? "\(source) == null ? null : \(reading)" : reading
            let start = index == 0 ? "    : " : "      "
            writer.line("\(start)\(member.name) = \(value)\(index + 1 < members.count ? "," : ";")")
        }
    }

    /// Prints `==` and `hashCode`. Dart itself compares lists by identity.
    private static func equality(_ name: String, _ members: [Member], in writer: inout CodeWriter) {
        let tests = members.map { member in
            member.isList
                ? "listEquals(other.\(member.name), \(member.name))" : "other.\(member.name) == \(member.name)"
        }
        let hashes = members.map { member in
            member.isList ? "...\(member.isNullable ? "?" : "")\(member.name)" : member.name
        }
        equality(name, tests, hashes, in: &writer)
    }

    static func equality(_ name: String, _ tests: [String], _ hashes: [String], in writer: inout CodeWriter) {
        writer.line("@override")
        writer.line("bool operator ==(Object other) =>")
        writer.line("    identical(this, other) ||")
        writer.line("    other is \(name)\(tests.map { " &&\n        \($0)" }.joined());")
        writer.line()
        writer.line("@override")
        writer.line(writer.wrapping("int get hashCode => Object.hashAll([", hashes, "]);", mayTrail: true))
    }
}
