import GraphQLLanguage

/// How an `@index` is built: its `type`, and for vectors `vector_method`. Source: docs/reference/sql-connect.md §5.2.
struct IndexMethod {
    /// Of Postgres: `btree`, `gin`, `hnsw`, `ivfflat`.
    let method: String
    let operatorClass: String?

    /// Nil after a reported problem.
    static func read(
        _ use: DirectiveUse, _ columns: [Column], sink: inout DiagnosticSink
    ) -> IndexMethod? {
        func refuse(_ argument: String, _ message: String) -> IndexMethod? {
            sink.report(.error, rule: "index-type", at: use.place(of: argument), message)
            return nil
        }
        let given = use.enumeration("type")
        if columns.contains(where: { $0.type.scalar == .vector }) {
            guard columns.count == 1 else { return refuse("fields", "a Vector takes an index of its own") }
            switch given {
            case nil, "HNSW": return IndexMethod(method: "hnsw", operatorClass: operatorClass(use))
            case "IVFFLAT": return IndexMethod(method: "ivfflat", operatorClass: operatorClass(use))
            default: return refuse("type", "a Vector takes an index of type HNSW or IVFFLAT")
            }
        }
        if use.value("vector_method") != nil {
            return refuse("vector_method", "\"vector_method\" is for Vector columns")
        }
        if given == "HNSW" || given == "IVFFLAT" {
            return refuse("type", "an index of type \(given ?? "") is for a Vector column")
        }
        let areDocuments = columns.allSatisfy { $0.type.isList || $0.type.scalar == .any }
        let haveDocuments = columns.contains { $0.type.isList || $0.type.scalar == .any }
        if given == "GIN", !areDocuments { return refuse("type", "a GIN index is for lists and columns of type Any") }
        if haveDocuments, given == "BTREE" || (given == nil && !areDocuments) {
            sink.report(
                .error, rule: "index-type", at: use.place,
                "lists and columns of type Any take a GIN index of their own")
            return nil
        }
        return IndexMethod(method: areDocuments ? "gin" : "btree", operatorClass: nil)
    }

    private static func operatorClass(_ use: DirectiveUse) -> String {
        (use.enumeration("vector_method").flatMap(SimilarityMethod.init(rawValue:)) ?? .usual).operatorClass
    }
}
