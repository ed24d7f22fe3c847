import CEL
package import JSON
package import LiveModel
package import SchemaModel

/// One run of a stored operation: all inputs of its values.
package struct Invocation {
    package let variables: Variables
    let auth: Auth?
    /// Milliseconds since 1970-01-01.
    let nowMs: Int64
    let operationName: String
    /// Returns a new random UUID in any spelling.
    let makeUUID: () -> String
    /// The results of earlier fields, by response key.
    package var response = JSONObject()
    /// The vectors of the texts that the operation embeds.
    let embeddings: Embeddings
    /// The fields, by table, whose values the steps of a mutation tell of changed rows; nil if they tell no changes.
    package let recordedFields: [String: RecordedFields]?
    package var recordsRows: Bool { recordedFields != nil }

    package init(
        variables: JSONObject, auth: Auth?, nowMs: Int64, operationName: String, embeddings: Embeddings = .none,
        recordedFields: [String: RecordedFields]? = nil, makeUUID: @escaping () -> String = { "" }
    ) {
        self.variables = Variables(variables)
        self.auth = auth
        self.nowMs = nowMs
        self.operationName = operationName
        self.embeddings = embeddings
        self.recordedFields = recordedFields
        self.makeUUID = makeUUID
    }

    /// Returns the same run with other variables.
    package func with(_ variables: JSONObject) -> Invocation {
        var other = Invocation(
            variables: variables, auth: auth, nowMs: nowMs, operationName: operationName, embeddings: embeddings,
            recordedFields: recordedFields, makeUUID: makeUUID)
        other.response = response
        return other
    }
}

/// A value that is bound to a statement.
package struct Operand: Sendable {
    package indirect enum Source: Sendable {
        /// A constant in canonical form.
        case constant(JSONValue)
        case variable(String, path: [String])
        /// The first of several paths in a variable that was sent.
        case firstGiven(String, [[String]])
        case expression(ExpressionProgram)
        /// `uuidV4()`: a different value for each index and each request.
        case freshUUID(index: Int)
        /// `{now: true, sub: {days: 7}}`: a time relative to the request or to another value.
        case relative(RelativeTime)
        /// A relative time from a variable of type `Timestamp_Relative`.
        case relativeVariable(String, isDate: Bool)
        case list([Source])
        /// An object of type `Any`. A member whose variable was not sent is left out.
        case object([(name: String, value: Source)])
        /// The embedding of a text.
        case embedding(EmbeddingSource)
    }

    /// How a text is bound as a `LIKE` pattern.
    enum Pattern: Sendable, Hashable {
        case contains, startsWith, endsWith
    }

    package var source: Source
    package let type: ColumnType
    package let sqlType: SQLType
    var pattern: Pattern?

    init(_ source: Source, type: ColumnType, schema: Schema, pattern: Pattern? = nil) {
        self.source = source
        self.type = type
        self.sqlType = schema.sqlType(of: type)
        self.pattern = pattern
    }

    /// Identifies equal operands of a statement, which share one parameter.
    package var identity: String {
        "\(source.identity)|\(sqlType.text)|\(pattern.map { "\($0)" } ?? "")"
    }

    /// Returns the value in canonical form; null if it was not sent.
    package func value(in invocation: Invocation) throws(RequestError) -> JSONValue {
        try source.value(as: type, in: invocation)
    }

    /// Returns the text to bind; nil for NULL.
    package func text(in invocation: Invocation) throws(RequestError) -> String? {
        text(of: try value(in: invocation))
    }

    package func text(of value: JSONValue) -> String? {
        guard let pattern, let text = value.stringValue else { return ParameterText.text(of: value, type: type) }
        let escaped = SQLText.likeEscaped(text)
        return switch pattern {
        case .contains: "%\(escaped)%"
        case .startsWith: "\(escaped)%"
        case .endsWith: "%\(escaped)"
        }
    }

    /// The SQL of a constant in the operation's text; nil for values from requests.
    package var constantSQL: String? {
        guard case .constant(let value) = source else { return nil }
        guard let text = text(of: value) else { return "NULL::\(sqlType.text)" }
        return "\(SQLName.literal(text))::\(sqlType.text)"
    }

    /// Whether each request needs a new value.
    package var isFresh: Bool {
        if case .freshUUID = source { true } else { false }
    }

    package var isNullConstant: Bool {
        if case .constant(.null) = source { true } else { false }
    }

    /// The conditions under which the value is not null; empty if it does not come from a variable alone.
    package var presence: [Condition] {
        switch source {
        case .variable(let name, let path): [.notNull(name, path: path)]
        case .relative(let time): time.base.map { Operand.presence(of: $0) } ?? []
        case .relativeVariable(let name, _): [.notNull(name, path: [])]
        case .constant, .firstGiven, .expression, .freshUUID, .list, .object, .embedding: []
        }
    }

    /// Whether the value may be null although no sent value is.
    package var isComputed: Bool {
        switch source {
        case .expression, .list: true
        case .constant, .variable, .firstGiven, .freshUUID, .relative, .relativeVariable, .object, .embedding: false
        }
    }

    private static func presence(of source: Source) -> [Condition] {
        if case .variable(let name, let path) = source { [.notNull(name, path: path)] } else { [] }
    }
}

extension Operand.Source {
    var identity: String {
        switch self {
        case .constant(let value): "=\(value.description)"
        case .variable(let name, let path): "$\(([name] + path).joined(separator: "."))"
        case .firstGiven(let name, let paths):
            "$\(name).\(paths.map { $0.joined(separator: ".") }.joined(separator: "|"))"
        case .expression(let program): "{\(program.text)}"
        case .freshUUID(let index): "uuid\(index)"
        case .relative(let time): time.identity
        case .relativeVariable(let name, let isDate): "relative(\(isDate)|$\(name))"
        case .list(let elements): "[\(elements.map(\.identity).joined(separator: ","))]"
        case .object(let members):
            "{"
                + members.map { "\(JSONValue.string($0.name).description):\($0.value.identity)" }.joined(separator: ",")
                + "}"
        case .embedding(let source): source.identity
        }
    }

    func value(as type: ColumnType, in invocation: Invocation) throws(RequestError) -> JSONValue {
        switch self {
        case .constant(let value): return value
        case .variable(let name, let path): return invocation.variables.value(name, path: path) ?? .null
        case .firstGiven(let name, let paths):
            for path in paths {
                if let value = invocation.variables.value(name, path: path) { return value }
            }
            return .null
        case .expression(let program): return try program.value(as: type, in: invocation)
        case .freshUUID:
            return ScalarText.canonicalUUID(invocation.makeUUID()).map(JSONValue.string) ?? .null
        case .relative(let time): return try time.value(in: invocation)
        case .relativeVariable(let name, let isDate):
            guard let value = invocation.variables.value(name, path: []), !value.isNull else { return .null }
            return try RelativeTime(value, isDate: isDate, name, []).value(in: invocation)
        case .list(let elements):
            var values: [JSONValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                values.append(try element.value(as: ColumnType(type.scalar), in: invocation))
            }
            return .array(values)
        case .object(let members):
            var object = JSONObject()
            for (name, member) in members {
                if case .variable(let variable, let path) = member,
                    invocation.variables.value(variable, path: path) == nil
                {
                    continue
                }
                object[name] = try member.value(as: type, in: invocation)
            }
            return .object(object)
        case .embedding(let source):
            return .string(try invocation.embeddings.vector(of: source.embeddingText(in: invocation)).text)
        }
    }

    /// The expressions within the source.
    var programs: [ExpressionProgram] {
        switch self {
        case .expression(let program): [program]
        case .list(let elements): elements.flatMap(\.programs)
        case .object(let members): members.flatMap(\.value.programs)
        case .constant, .variable, .firstGiven, .freshUUID, .relative, .relativeVariable, .embedding: []
        }
    }
}
