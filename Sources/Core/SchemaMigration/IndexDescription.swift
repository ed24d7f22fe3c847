extension DatabaseDescription {
    /// An index of a table or partition, or one that the schema requires.
    package struct Index: Sendable, Hashable {
        package var name: String
        /// The names of its columns; empty for an index over expressions.
        package var columns: [String]
        package var descending: [Bool]
        package var method: String
        package var isUnique: Bool
        /// The operator class of each column; empty in a desired index if any will do.
        package var operatorClasses: [String] = []
        /// The expressions of an index over expressions, as `pg_get_indexdef` prints them or as the schema defines
        /// them.
        package var expression: String?
        /// The predicate of a partial index, as `pg_get_expr` prints it.
        package var predicate: String?
        /// The columns with which Postgres drops the index, including those in its expressions, its predicate and
        /// INCLUDE. Empty in a desired index.
        package var uses: [String] = []
        /// Whether it is the replica identity of the table, or has a part that is one of a partition.
        package var isReplicaIdentity = false
        /// Whether `CLUSTER` without an index name uses it.
        package var isClustered = false

        /// Returns whether it has the definition of `desired`, apart from the name.
        /// - Parameter asPart: whether it is to be attached to `desired`, for which Postgres ignores the sort
        ///   direction.
        func fits(_ desired: Index, asPart: Bool = false) -> Bool {
            isUnique == desired.isUnique && finds(desired, asPart: asPart)
        }

        /// Returns whether it makes `desired` unnecessary, whatever its name.
        func serves(_ desired: Index) -> Bool {
            guard desired.isUnique else { return finds(desired) }
            return keepsUnique.map { Set($0) == Set(desired.columns) } ?? false
        }

        /// The columns that it keeps unique; nil if it is not unique or covers only some rows.
        var keepsUnique: [String]? { isUnique && predicate == nil && expression == nil ? columns : nil }

        /// Returns whether both were generated from the schema and only directives changed: the fields or the language
        /// of a search, or the distance function of vectors. Replacing it loses no operator's rule.
        func isFormerForm(of desired: Index) -> Bool {
            guard !isUnique, !desired.isUnique, predicate == nil, method == desired.method else { return false }
            if desired.expression != nil { return expression.map(Self.isSearchDocument) ?? false }
            return expression == nil && columns == desired.columns && operatorClasses != desired.operatorClasses
                && !desired.operatorClasses.isEmpty
        }

        /// Returns whether the expression of an index is a search document.
        private static func isSearchDocument(_ expression: String) -> Bool {
            ExpressionText.reduced(expression).hasPrefix("to_tsvector'")
        }

        /// Returns whether it finds the same rows.
        private func finds(_ desired: Index, asPart: Bool = false) -> Bool {
            columns == desired.columns && method == desired.method && predicate == nil
                && ExpressionText.areSame(expression, desired.expression)
                && (desired.operatorClasses.isEmpty || operatorClasses == desired.operatorClasses)
                && (asPart || columns.isEmpty || method != "btree" || descending == desired.descending)
        }
    }
}
