package import LiveModel
package import Operations
import SchemaModel

/// The texts that a statement needs embeddings of.
extension QueryPlan {
    package func embeddingTexts(_ invocation: Invocation) throws(RequestError) -> [EmbeddingText] {
        if let dynamic { return try dynamic.plan(for: invocation.variables).embeddingTexts(invocation) }
        return try template.embeddingTexts(
            of: statement(of: template.shape(of: invocation.variables)).operands, invocation)
    }
}

extension MutationPlan {
    package func embeddingTexts(_ invocation: Invocation) throws(RequestError) -> [EmbeddingText] {
        guard inclusion.isAlways || invocation.variables.satisfies(inclusion) else { return [] }
        switch body {
        case .template(let plan):
            return try plan.template.embeddingTexts(of: plan.statement(invocation.variables).operands, invocation)
        case .insertMany(let plan): return try plan.embeddingTexts(invocation)
        case .dynamic(let plans, _): return try plans.plan(for: invocation.variables).embeddingTexts(invocation)
        case .remote, .tooManyRows: return []
        }
    }
}

extension InsertManyPlan {
    /// Only literal rows contain embeddings.
    func embeddingTexts(_ invocation: Invocation) throws(RequestError) -> [EmbeddingText] {
        guard case .literal(let rows) = insert.rows else { return [] }
        var texts: [EmbeddingText] = []
        for row in rows {
            for column in insert.table.columns {
                guard case .set(let operand)? = row.given[column.field]?.value,
                    case .embedding(let source) = operand.source
                else { continue }
                texts.append(try source.embeddingText(in: invocation))
            }
        }
        return texts
    }
}

extension Template {
    /// - Parameter operands: the operands of the statement of one shape.
    fileprivate func embeddingTexts(
        of operands: [Int], _ invocation: Invocation
    ) throws(RequestError) -> [EmbeddingText] {
        var texts: [EmbeddingText] = []
        for index in operands {
            guard case .embedding(let source) = self.operands[index].source else { continue }
            texts.append(try source.embeddingText(in: invocation))
        }
        return texts
    }
}
