/// A table or view that a query reads, as `pg_class` describes it.
package struct DatabaseRelation: Sendable {
    package struct Column: Sendable {
        package let name: String
        /// Whether Postgres computes it from others, so that it changes without being set.
        package let isGenerated: Bool

        package init(name: String, isGenerated: Bool) {
            self.name = name
            self.isGenerated = isGenerated
        }
    }

    package let name: String
    /// The `relkind`: `r`, `p`, `v`, `m`, `f`, …
    package let kind: String
    /// Whether it is in the Postgres schema of the project's tables.
    package let isInSchema: Bool
    package let isTemporary: Bool
    package let hasRowSecurity: Bool
    /// Whether it is a partition of another table.
    package let isPartition: Bool
    /// Whether other tables inherit from it, partitions included.
    package let hasChildren: Bool
    /// The columns by number.
    package let columns: [Int: Column]
    /// The rule of a view.
    package let rule: String?
    /// The key and the digest of its definition.
    package let definition: (key: String, digest: String)

    package init(
        name: String, kind: String, isInSchema: Bool, isTemporary: Bool, hasRowSecurity: Bool, isPartition: Bool,
        hasChildren: Bool, columns: [Int: Column], rule: String?, definition: (key: String, digest: String)
    ) {
        self.name = name
        self.kind = kind
        self.isInSchema = isInSchema
        self.isTemporary = isTemporary
        self.hasRowSecurity = hasRowSecurity
        self.isPartition = isPartition
        self.hasChildren = hasChildren
        self.columns = columns
        self.rule = rule
        self.definition = definition
    }

    /// The first number of objects that are not part of Postgres itself.
    static let firstOther: UInt32 = 16_384

    /// Why changes of its rows would not be noticed; nil if they are. Views are judged by what they read.
    var refusal: String? {
        if isTemporary { return "\(name) is temporary" }
        if hasRowSecurity { return "row security applies to \(name)" }
        switch kind {
        case "r" where isPartition: return "\(name) is a partition"
        case "r" where hasChildren: return "other tables inherit from \(name)"
        case "p" where isPartition: return "\(name) is a partition"
        case "r", "p": return nil
        case "v" where rule != nil: return nil
        case "m": return "\(name) is a materialized view"
        case "f": return "\(name) is a foreign table"
        default: return "\(name) is no table"
        }
    }
}
