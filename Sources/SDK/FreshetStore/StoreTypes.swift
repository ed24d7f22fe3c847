package import JSON

/// A result in the store: an operation with its variables, of the store's user.
package struct ResultKey: Hashable, Sendable, Comparable {
    package let operation: String
    /// Canonical JSON.
    package let variables: String

    package init(operation: String, variables: String) {
        self.operation = operation
        self.variables = variables
    }

    package static func < (left: ResultKey, right: ResultKey) -> Bool {
        (left.operation, left.variables) < (right.operation, right.variables)
    }
}

/// A result as it is read from the store.
package struct StoredDocument: Hashable, Sendable {
    package let document: JSONValue
    /// When the server sent it.
    package let fetchedAtMs: Int64
}

/// A result as it is kept in a file.
package struct SavedResult: Hashable, Sendable {
    package var key: ResultKey
    package var revision: String
    package var fetchedAtMs: Int64
    /// The server's name for the result, if it was not changed since; `HeldResult`.
    package var tag: String?
    /// Nil in a change that leaves the tree as it is.
    package var tree: ResultTree?
    /// All rows of the tree; with `tree` only.
    package var rows: Set<EntityID> = []
    /// The records that changed; of a result that is loaded, all of its rows.
    package var records: [EntityID: EntityRecord] = [:]

    package init(
        key: ResultKey, revision: String, fetchedAtMs: Int64, tag: String? = nil, tree: ResultTree?,
        rows: Set<EntityID> = [], records: [EntityID: EntityRecord] = [:]
    ) {
        self.key = key
        self.revision = revision
        self.fetchedAtMs = fetchedAtMs
        self.tag = tag
        self.tree = tree
        self.rows = rows
        self.records = records
    }
}

/// A change of a row among the results in memory.
package struct EntityEvent: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The row entered the first result.
        case created
        case updated(fields: [String])
        /// The row left the last result: it was deleted, or no result shows it any more.
        case deleted
    }

    package let kind: Kind
    package let record: EntityRecord
}

/// The effects of a write.
package struct StoreOutcome: Hashable, Sendable {
    /// The results that read differently now, the written one included.
    package var changed: Set<ResultKey> = []
    package var events: [EntityEvent] = []
    /// The changes to keep in a file.
    package var saved: [SavedResult] = []
    /// Results that left memory and, without a file, the cache.
    package var evicted: [ResultKey] = []
    /// Results that show what an applied mutation was expected to change, not what the server sent.
    package var assumed: Set<ResultKey> = []

    package init() {}
}

/// The results that are dropped from the cache because the server says so.
package struct StoreSelection: Hashable, Sendable {
    package var isEverything = false
    /// The results that show one of these rows.
    package var entities: Set<EntityID> = []
    /// The results of these operations.
    package var operations: Set<String> = []

    package init() {}

    /// Whether a result of an operation may be wrong, of whose rows not all are known.
    package func mayConcern(partialResultOf operation: String) -> Bool {
        isEverything || !entities.isEmpty || operations.contains(operation)
    }

    package var isEmpty: Bool { !isEverything && entities.isEmpty && operations.isEmpty }
}

/// A change that is expected of a mutation, shown until the server answers.
package struct OptimisticChange: Hashable, Sendable {
    package let type: String
    package let key: [JSONValue]
    /// The fields that change; nil if the row goes away.
    package let fields: JSONObject?
    /// The list to which the row is added; nil if it is only changed.
    package let insertion: RowInsertion?

    package init(type: String, key: [JSONValue], fields: JSONObject?, insertion: RowInsertion? = nil) {
        self.type = type
        self.key = key
        self.fields = fields
        self.insertion = insertion
    }

    package var id: EntityID { EntityID(type: type, key: key) }

    /// `{"type","key","fields","insertion"}`, for a file; the last one only for a row that is added.
    package var stored: JSONValue {
        var object: JSONObject = [
            "type": .string(type), "key": .array(key), "fields": fields.map(JSONValue.object) ?? .null,
        ]
        if let insertion { object["insertion"] = insertion.stored }
        return .object(object)
    }

    package init?(stored value: JSONValue) {
        guard let type = value["type"]?.stringValue, let key = value["key"]?.arrayValue else { return nil }
        self.init(
            type: type, key: key, fields: value["fields"]?.objectValue,
            insertion: value["insertion"].flatMap(RowInsertion.init(stored:)))
    }
}
