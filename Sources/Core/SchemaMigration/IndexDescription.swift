extension DatabaseDescription {
    /// An index of a table or of a partition, or one that the schema wants.
    package struct Index: Sendable, Hashable {
        package var name: String
        /// None of an index over expressions.
        package var columns: [String]
        package var descending: [Bool]
        package var method: String
        package var isUnique: Bool
        /// One a column. Of a wanted index none where the choice of Postgres will do, or any other.
        package var operatorClasses: [String] = []
        /// All that an index over expressions holds, as `pg_get_indexdef` prints it or as the schema has it.
        package var expression: String?
        /// Of a partial index, as `pg_get_expr` prints it.
        package var predicate: String?
        /// Columns without which Postgres drops it: those that it includes, and of its expressions and its predicate, too.
        /// Of a wanted index none.
        package var uses: [String] = []
        /// Updates and deletes of a published table tell rows by it; of a table with partitions also where one of its
        /// parts is.
        package var isReplicaIdentity = false
        /// `CLUSTER` without a name of an index goes by it.
        package var isClustered = false

        /// Whether it is of the definition of `wanted`, name aside.
        /// - Parameter asPart: is to become a part of it, for which ascending and descending are one to Postgres.
        func fits(_ wanted: Index, asPart: Bool = false) -> Bool {
            isUnique == wanted.isUnique && finds(wanted, asPart: asPart)
        }

        /// Whether nothing more is needed for `wanted`, whatever the name.
        func serves(_ wanted: Index) -> Bool {
            guard wanted.isUnique else { return finds(wanted) }
            return keepsUnique.map { Set($0) == Set(wanted.columns) } ?? false
        }

        /// The columns by which no two rows are the same; nil of one that is not unique, or of some rows only.
        var keepsUnique: [String]? { isUnique && predicate == nil && expression == nil ? columns : nil }

        /// Whether both are what the schema alone makes of its fields, and only the fields' directives differ:
        /// other fields or another language of a search, another measure of vectors. No operator's rule goes with it.
        func isFormerForm(of wanted: Index) -> Bool {
            guard !isUnique, !wanted.isUnique, predicate == nil, method == wanted.method else { return false }
            if wanted.expression != nil { return expression.map(Self.isSearchDocument) ?? false }
            return expression == nil && columns == wanted.columns && operatorClasses != wanted.operatorClasses
                && !wanted.operatorClasses.isEmpty
        }

        /// Whether an expression of an index is the document of some fields.
        private static func isSearchDocument(_ expression: String) -> Bool {
            ExpressionText.reduced(expression).hasPrefix("to_tsvector'")
        }

        /// Whether the rows are found by it.
        private func finds(_ wanted: Index, asPart: Bool = false) -> Bool {
            columns == wanted.columns && method == wanted.method && predicate == nil
                && ExpressionText.areSame(expression, wanted.expression)
                && (wanted.operatorClasses.isEmpty || operatorClasses == wanted.operatorClasses)
                && (asPart || columns.isEmpty || method != "btree" || descending == wanted.descending)
        }
    }
}
