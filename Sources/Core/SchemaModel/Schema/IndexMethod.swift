import GraphQLLanguage

/// The index method of an `@index`: its `type`, and `vector_method` for vectors. Source: docs/reference/sql-connect.md
/// §5.2.
struct IndexMethod {
    /// The Postgres method: `btree`, `gin`, `hnsw` or `ivfflat`.
    let method: String
    let operatorClass: String?

    /// Returns nil after reporting a problem.
    static func read(
        _ use: DirectiveUse, _ columns: [Column], sink: inout DiagnosticSink
    ) -> IndexMethod? {
        func refuse(_ argument: String, _ message: String) -> IndexMethod? {
            sink.report(.error, rule: .indexType, at: use.range(of: argument), message)
            return nil
        }
        let given = use.enumeration("type")
        if columns.contains(where: { $0.type.scalar == .vector }) {
            guard columns.count == 1 else { return refuse("fields", "a Vector column needs a separate index") }
            switch given {
            case nil, "HNSW": return IndexMethod(method: "hnsw", operatorClass: operatorClass(use))
            case "IVFFLAT": return IndexMethod(method: "ivfflat", operatorClass: operatorClass(use))
            default: return refuse("type", "an index on a Vector column must be of type HNSW or IVFFLAT")
            }
        }
        if use.value("vector_method") != nil {
            return refuse("vector_method", "\"vector_method\" is only allowed for Vector columns")
        }
        if given == "HNSW" || given == "IVFFLAT" {
            return refuse("type", "an index of type \(given ?? "") is only allowed for a Vector column")
        }
        let areDocuments = columns.allSatisfy { $0.type.isList || $0.type.scalar == .any }
        let haveDocuments = columns.contains { $0.type.isList || $0.type.scalar == .any }
        if given == "GIN", !areDocuments {
            return refuse("type", "a GIN index is only allowed for lists and columns of type Any")
        }
        if haveDocuments, given == "BTREE" || (given == nil && !areDocuments) {
            sink.report(
                .error, rule: .indexType, at: use.range,
                "lists and columns of type Any need a separate GIN index")
            return nil
        }
        return IndexMethod(method: areDocuments ? "gin" : "btree", operatorClass: nil)
    }

    private static func operatorClass(_ use: DirectiveUse) -> String {
        (use.enumeration("vector_method").flatMap(SimilarityMethod.init(rawValue:)) ?? .default).operatorClass
    }
}
