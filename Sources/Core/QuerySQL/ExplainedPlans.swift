import JSON
import LiveModel
package import Operations
import SchemaModel

/// A parameter of a statement, described for people.
package struct ExplainedParameter: Sendable {
    /// `$genre`, `{auth.uid}`, a constant as JSON.
    package let source: String
    /// `uuid`, `text[]`
    package let type: String
}

extension QueryPlan {
    package func explained(
        _ variables: Variables
    ) -> (statement: QueryStatement, parameters: [ExplainedParameter]) {
        if let dynamic { return dynamic.plan(for: variables).explained(variables) }
        let statement = statement(of: template.shape(of: variables))
        let parameters = statement.operands.map { index in
            let operand = template.operands[index]
            return ExplainedParameter(source: operand.source.words, type: operand.sqlType.text)
        }
        return (statement, parameters)
    }
}

extension MutationPlan {
    package func sql(_ variables: Variables) -> String? {
        switch body {
        case .template(let plan):
            plan.template.render(plan.template.shape(of: variables)) { "$\($0 + 1)::\($1.text)" }.text
        case .dynamic(let plans, _): plans.plan(for: variables).sql(variables)
        case .remote(let field): "POST \(field.endpoint.uri)   \(field.text)"
        case .tooManyRows: nil
        case .insertMany(let plan):
            // Rows need values to be grouped; rows whose values cannot be computed here are not shown.
            try? plan.run(Self.sample(variables, plan)).sql.text
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
