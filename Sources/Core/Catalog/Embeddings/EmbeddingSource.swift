package import JSON
package import LiveModel

/// Where an operation says `{model: …, text: …}` in place of a vector.
/// Source: docs/reference/sql-connect.md §5.4 and §5.6, `Vector_Embed`.
struct EmbeddingSource: Sendable {
    /// Written out in the operation.
    let model: String
    /// A constant or a variable of type `String!`.
    let text: Operand.Source
    /// Numbers that the column takes; nil where its type leaves that open.
    let size: Int?

    var identity: String { "embed(\(model)|\(text.identity)|\(size ?? 0))" }

    /// - Throws: `.invalidVariable` for a text that was sent as null in place of its default.
    func embeddingText(in invocation: Invocation) throws(RequestError) -> EmbeddingText {
        guard let text = try text.value(as: ColumnType(.string), in: invocation).stringValue else {
            throw RequestError(
                .invalidVariable, "\(self.text.words) is null, and a vector of it by \"\(model)\" is asked for")
        }
        return EmbeddingText(model: model, text: text, size: size)
    }
}

extension Column {
    /// Numbers of a vector; nil where the column takes any number of them.
    var vectorSize: Int? {
        guard type.scalar == .vector, let sqlTypeOverride else { return nil }
        return Int(sqlTypeOverride.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    }
}

extension StoredOperation {
    /// A place where the operation asks for a vector, for people.
    package struct EmbeddingUse: Sendable, Hashable {
        package let model: String
        /// `$query`, or a constant as JSON.
        package let text: String
        package let size: Int?
    }

    package var hasEmbeddings: Bool { !embeddings.isEmpty }

    package var embeddingUses: [EmbeddingUse] {
        embeddings.map { EmbeddingUse(model: $0.model, text: $0.text.words, size: $0.size) }
    }

    /// The texts whose vectors a run needs, each once; those of fields that are left out are not among them. `variables`
    /// are coerced.
    /// - Throws: `.invalidVariable`.
    package func embeddingTexts(variables: JSONObject) throws(RequestError) -> [EmbeddingText] {
        guard hasEmbeddings else { return [] }
        let invocation = Invocation(
            variables: variables, auth: nil, nowMs: 0, operationName: reference.operation)
        var all: [EmbeddingText] = try query?.embeddingTexts(invocation) ?? []
        for plan in mutation { all += try plan.embeddingTexts(invocation) }
        var seen: Set<EmbeddingText> = []
        return all.filter { seen.insert($0).inserted }
    }
}

extension QueryPlan {
    fileprivate func embeddingTexts(_ invocation: Invocation) throws(RequestError) -> [EmbeddingText] {
        if let dynamic { return try dynamic.plan(for: invocation.variables).embeddingTexts(invocation) }
        return try template.embeddingTexts(
            of: statement(of: template.shape(of: invocation.variables)).operands, invocation)
    }
}

extension MutationPlan {
    fileprivate func embeddingTexts(_ invocation: Invocation) throws(RequestError) -> [EmbeddingText] {
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
    /// Only rows that are written out have any.
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
    /// - Parameter operands: those of the statement of one shape.
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
