package import FreshetStore
public import FreshetTypes
package import JSON

/// The changes that are expected of a mutation, row by row. Generated code gives the rows of each table their fields.
///
///     try await movies.updateMovie(id: id, genre: "Drama").enqueue { expected in
///         expected[MovieKey(id: id)].genre = "Drama"
///         expected[MovieKey(id: id)].editCount? += 1
///     }
///
/// Rows are added to the lists that the app names (`insert`).
/// Source: SDK specification §4.
public struct OptimisticEdits: Sendable {
    package private(set) var changes: [OptimisticChange] = []
    /// Why the mutation is not to be kept.
    package internal(set) var failure: FreshetError?
    /// The fields of a row that results show now; nil if none shows it.
    private let shown: @Sendable (EntityID) -> JSONObject?
    /// The result of a query as it is shown; nil if it is not in memory.
    let documents: @Sendable (StoredQuery) -> JSONValue?
    /// The connector of the mutation.
    let link: ConnectorLink?

    package init(
        of link: ConnectorLink? = nil, shown: @escaping @Sendable (EntityID) -> JSONObject?,
        documents: @escaping @Sendable (StoredQuery) -> JSONValue? = { _ in nil }
    ) {
        self.link = link
        self.shown = shown
        self.documents = documents
    }

    /// The row with a key. It need not be in a result now: what is set holds for results that show it later, too.
    public subscript<Key: EntityKey>(key: Key) -> EditedRow<Key> {
        get { EditedRow(edited: edited(key), shown: shownHere(key)) }
        set {
            if !newValue.edited.isEmpty {
                put(key, newValue.edited)
            } else if !edited(key).isEmpty {
                remove(key)
            }
        }
    }

    /// The row goes away, also if it was added before.
    public mutating func delete(_ key: some EntityKey) {
        changes.removeAll { $0.isOf(key) }
        put(key, nil)
    }

    /// The fields of a row that results show now, those of rows that were added before included.
    func shownHere(_ key: some EntityKey) -> JSONObject {
        changes.reduce(into: shown(EntityID(key)) ?? JSONObject()) { fields, change in
            if change.insertion != nil, change.isOf(key) { fields = fields.merging(change.fields) }
        }
    }

    /// The fields of a row that were set, apart from additions to lists.
    func edited(_ key: some EntityKey) -> JSONObject {
        changes.last { $0.insertion == nil && $0.isOf(key) }?.fields ?? JSONObject()
    }

    private mutating func put(_ key: some EntityKey, _ fields: JSONObject?) {
        remove(key)
        changes.append(
            OptimisticChange(type: type(of: key).entityType, key: key.keyValues.map(\.json), fields: fields))
    }

    /// Adds a row to a list, once.
    mutating func put(_ added: OptimisticChange) {
        changes.removeAll {
            $0.id == added.id && $0.insertion?.result == added.insertion?.result
                && $0.insertion?.list == added.insertion?.list
        }
        changes.append(added)
    }

    private mutating func remove(_ key: some EntityKey) {
        changes.removeAll { $0.insertion == nil && $0.isOf(key) }
    }
}

extension OptimisticChange {
    fileprivate func isOf(_ key: some EntityKey) -> Bool {
        type == Swift.type(of: key).entityType && self.key == key.keyValues.map(\.json)
    }
}

/// The fields of a row of a table, as they are shown and are expected to become. Generated code adds them as
/// properties, for each field that the connector's queries show; their names are those in results.
///
/// A property is what was set, or else what the app's results show; nil if that is null or no result in memory shows
/// it. Setting nil means null; where the field cannot be null, it takes back what was set.
public struct EditedRow<Key: EntityKey>: Sendable {
    var edited: JSONObject
    let shown: JSONObject

    /// The field's value; nil also if it has another type. For generated code.
    public func value<Value: ResultValue>(of field: String) -> Value? {
        guard let value = edited[field] ?? shown[field], !value.isNull else { return nil }
        return try? Value(result: AnyValue(json: value))
    }

    /// Sets a field that may be null. For generated code.
    public mutating func set(_ field: String, to value: (some VariableValue)?) {
        // `count? += 1` sets nil to nil, which must not make a row that is not known null.
        if value == nil, edited[field] == nil, shown[field]?.isNull != false { return }
        edited[field] = value?.variableValue.json ?? .null
    }

    /// Sets a field that cannot be null; nil takes back what was set. For generated code.
    public mutating func setOrReset(_ field: String, to value: (some VariableValue)?) {
        edited[field] = value?.variableValue.json
    }
}
