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
    /// The consequences of writing its rows; nil if nobody asked.
    package var writing: Writing?

    /// The consequences of writing rows of a table.
    package struct Writing: Sendable {
        /// Whether rules rewrite statements about it (`CREATE RULE`).
        package let hasRules: Bool
        /// Whether it inherits from other tables, whose rows its own are as well.
        package let hasParents: Bool
        /// The stored trees of its defaults, generated columns, checks and indices.
        package let expressions: [String]
        /// The foreign keys that refer to it.
        package let references: [Reference]
        /// The key and the digest of all that this type tells.
        package let definition: (key: String, digest: String)

        package init(
            hasRules: Bool, hasParents: Bool, expressions: [String], references: [Reference],
            definition: (key: String, digest: String)
        ) {
            self.hasRules = hasRules
            self.hasParents = hasParents
            self.expressions = expressions
            self.references = references
            self.definition = definition
        }
    }

    /// A foreign key, seen from the table that it refers to. Columns are numbers.
    package struct Reference: Sendable {
        /// The table that has the key.
        package let child: UInt32
        package let childColumns: [Int]
        package let columns: [Int]
        /// The action on rows of the child with a deleted row.
        package let onDelete: Action
        /// The action on rows of the child with a change of a column to which they refer.
        package let onUpdate: Action

        package init(child: UInt32, childColumns: [Int], columns: [Int], onDelete: Action, onUpdate: Action) {
            self.child = child
            self.childColumns = childColumns
            self.columns = columns
            self.onDelete = onDelete
            self.onUpdate = onUpdate
        }
    }

    /// The letters of `pg_constraint`.
    package enum Action: String, Sendable {
        case nothing = "a"
        case restrict = "r"
        case cascade = "c"
        case setNull = "n"
        case setDefault = "d"

        var changesRows: Bool { self == .cascade || self == .setNull || self == .setDefault }
    }

    package init(
        name: String, kind: String, isInSchema: Bool, isTemporary: Bool, hasRowSecurity: Bool, isPartition: Bool,
        hasChildren: Bool, columns: [Int: Column], rule: String?, definition: (key: String, digest: String),
        writing: Writing? = nil
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
        self.writing = writing
    }

    /// Why a statement that writes its rows may write more than can be found out; nil if not. Triggers are not
    /// considered.
    var writeRefusal: String? {
        if !isInSchema { return "\(name) is in another Postgres schema" }
        if isTemporary { return "\(name) is temporary" }
        switch kind {
        case "r" where isPartition: return "\(name) is a partition"
        case "r" where hasChildren: return "other tables inherit from \(name)"
        case "r": break
        case "p": return "\(name) has partitions"
        case "v": return "it writes through the view \(name)"
        default: return "\(name) is no table"
        }
        guard let writing else { return "\(name) is not described" }
        if writing.hasRules { return "\(name) has rules" }
        if writing.hasParents { return "\(name) inherits from another table" }
        return nil
    }

    /// Why a statement that reads its rows may write; nil if it cannot, as far as its own kind goes.
    var sideEffectRefusal: String? {
        if hasRowSecurity { return "row security applies to \(name)" }
        return kind == "f" ? "\(name) is a foreign table" : nil
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
