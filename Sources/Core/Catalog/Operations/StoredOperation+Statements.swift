package import JSON
import LiveModel

/// The statements of an operation, for people to read: `freshet explain`.
extension StoredOperation {
    /// What a parameter of a statement holds.
    package struct Parameter: Sendable {
        /// `$genre`, `{auth.uid}`, a constant as JSON.
        package let source: String
        /// `uuid`, `text[]`
        package let type: String
    }

    /// One step of a mutation.
    package struct Step: Sendable {
        package let responseKey: String
        /// Nil when it depends on the rows that a variable brings.
        package let sql: String?
    }

    /// The statement of a query for variables like these; their values do not matter, only which there are.
    /// `variables` are coerced. Nil for a mutation.
    package func statement(variables: JSONObject) -> (statement: QueryStatement, parameters: [Parameter])? {
        query?.explained(Variables(variables))
    }

    /// The statements of a mutation, likewise. Empty for a query.
    package func steps(variables: JSONObject) -> [Step] {
        let variables = Variables(variables)
        return mutation.map { Step(responseKey: $0.responseKey, sql: $0.sql(variables)) }
    }

    /// The rows that the query looks up by primary key: table and, in the order of the key, where its parts come from.
    package var lookups: [(table: String, key: [String])] {
        query?.lookups.map { ($0.table, $0.operands.map(\.source.words)) } ?? []
    }

    /// Variables with a value for each, to see the statement that has every part.
    package func sampleVariables(of schema: Schema) -> JSONObject {
        var object = JSONObject()
        for variable in variables {
            object[variable.name] =
                variable.defaultValue.flatMap { $0.isNull ? nil : $0 } ?? variable.plan.sample(schema)
        }
        return object
    }
}

extension QueryPlan {
    fileprivate func explained(
        _ variables: Variables
    ) -> (statement: QueryStatement, parameters: [StoredOperation.Parameter]) {
        if let dynamic { return dynamic.plan(for: variables).explained(variables) }
        let statement = statement(of: template.shape(of: variables))
        let parameters = statement.operands.map { index in
            let operand = template.operands[index]
            return StoredOperation.Parameter(source: operand.source.words, type: operand.sqlType.text)
        }
        return (statement, parameters)
    }
}

extension MutationPlan {
    fileprivate func sql(_ variables: Variables) -> String? {
        switch body {
        case .template(let plan):
            plan.template.render(plan.template.shape(of: variables)) { "$\($0 + 1)::\($1.text)" }.text
        case .dynamic(let plans, _): plans.plan(for: variables).sql(variables)
        case .remote(let field): "POST \(field.endpoint.uri)   \(field.text)"
        case .tooManyRows: nil
        case .insertMany(let plan):
            // Rows need values to be grouped; those that no value can be computed for here are not shown.
            try? plan.run(Self.sample(variables, plan)).sql
        }
    }
}

extension MutationPlan {
    private static func sample(_ variables: Variables, _ plan: InsertManyPlan) throws(RequestError) -> Invocation {
        func invocation(_ embeddings: Embeddings) -> Invocation {
            Invocation(
                variables: variables.object, auth: Auth(uid: "uid", token: JSONObject()), nowMs: 0, operationName: "",
                embeddings: embeddings, makeUUID: { "00000000-0000-4000-8000-000000000000" })
        }
        let texts = try plan.embeddingTexts(invocation(.none))
        let vector = Embeddings.Outcome.success(EmbeddingVector([0]))
        return invocation(Embeddings(Dictionary(texts.map { ($0, vector) }) { first, _ in first }))
    }
}

extension Operand.Source {
    /// For people.
    var words: String {
        switch self {
        case .constant(let value): value.description
        case .variable(let name, let path): "$" + ([name] + path).joined(separator: ".")
        case .firstGiven(let name, let paths): "$" + ([name] + (paths.first ?? [])).joined(separator: ".")
        case .expression(let program): "{\(program.text)}"
        case .freshUUID: "{uuidV4()}"
        case .relativeVariable(let name, _): "$\(name)"
        case .relative(let time): time.isDate ? "a date counted from today" : "a time counted from now"
        case .list(let elements): "[\(elements.map(\.words).joined(separator: ", "))]"
        case .embedding(let source): "the vector of \(source.text.words) by \(source.model)"
        }
    }
}

extension CoercionPlan {
    /// A value of this form, in canonical form.
    fileprivate func sample(_ schema: Schema) -> JSONValue {
        switch self {
        case .scalar(let scalar): scalar.sample(schema)
        case .word(let words): .string(words.first ?? "")
        case .list(let element, _): .array([element.sample(schema)])
        case .object(_, let members):
            .object(JSONObject(members.map { ($0.name, $0.plan.sample(schema)) }))
        case .generated(.change(let type)): .object(JSONObject([type.sampleChange(schema)]))
        case .generated(.pattern): .object(JSONObject([("like", .string("text"))]))
        case .generated: .object(JSONObject())
        case .relative(let isDate): .object(JSONObject([(isDate ? "today" : "now", .bool(true))]))
        case .change(let type): .array([.object(JSONObject([type.sampleChange(schema)]))])
        case .nonNull(let inner): inner.sample(schema)
        }
    }
}

extension ColumnType {
    /// The first thing that can be done to a column of the type.
    fileprivate func sampleChange(_ schema: Schema) -> (String, JSONValue) {
        let value = scalar.sample(schema)
        let isTime = !isList && [.date, .timestamp].contains(scalar)
        let amount: JSONValue = isTime ? .object(JSONObject([("days", .int(1))])) : isList ? .array([value]) : value
        return (changes.first?.name ?? "", amount)
    }
}

extension ScalarType {
    fileprivate func sample(_ schema: Schema) -> JSONValue {
        switch self {
        case .uuid: .string("00000000000040008000000000000000")
        case .string: .string("text")
        case .int: .int(1)
        case .int64: .int(1)
        case .float: .double(1.5)
        case .boolean: .bool(true)
        case .date: .string("2026-01-31")
        case .timestamp: .string("2026-01-31T12:00:00Z")
        case .any: .object(JSONObject())
        case .vector: .array([.double(1)])
        case .enumeration(let name): .string(schema.enums[name]?.values.first ?? "")
        }
    }
}

extension StoredOperation {
    /// Whether followers of the query may ever get a second result.
    package var isRefreshed: Bool {
        kind == .query
            && !(refresh.triggers.isEmpty && refresh.everyMs == nil && refresh.lookupTables.isEmpty)
    }
}
