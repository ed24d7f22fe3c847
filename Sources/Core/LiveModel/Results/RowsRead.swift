package import JSON

/// A set of hashes of rows' values (`RowHasher`).
package struct RowHashes: Sendable, Hashable {
    /// Ascending, without duplicates.
    package let all: [UInt32]

    package init(_ hashes: some Sequence<UInt32>) { all = Set(hashes).sorted() }

    /// - Parameter values: values of one field, in the form of `GuardValue`.
    package init(values: some Sequence<String>) { self.init(values.map { RowHasher.hash(CollectionOfOne($0)) }) }

    package var count: Int { all.count }

    package func contains(_ hash: UInt32) -> Bool {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < all.count && all[low] == hash
    }
}

/// The rows of one site that a run of a query read, as far as later changes are compared with them.
package struct RowsRead: Sendable, Hashable {
    /// The values of the bound field; nil for a site without one.
    package var bound: RowHashes?
    /// The primary keys of the rows that the result shows; nil for a site whose rows it does not show one by one.
    package var shown: RowHashes?
    /// The lists of the rows: one at the root, or one for each object that encloses one, also without rows. Empty if
    /// they are more than `listsMax`, or nothing is compared with their ends.
    package var lists: [List] = []

    /// The most nested lists whose ends a result tells.
    package static let listsMax = 1_000

    /// One list of a result.
    package struct List: Sendable, Hashable {
        /// The hash of the bound field's value in its rows; nil for a site without one.
        package let bound: UInt32?
        /// The number of rows that it shows.
        package let count: Int
        /// The last shown row's values of the fields by which the list is ordered; empty without rows.
        package var last: [JSONValue]

        package init(bound: UInt32? = nil, count: Int, last: [JSONValue]) {
            self.bound = bound
            self.count = count
            self.last = last
        }
    }

    package init(bound: RowHashes? = nil, shown: RowHashes? = nil, lists: [List] = []) {
        self.bound = bound
        self.shown = shown
        self.lists = lists
    }
}
