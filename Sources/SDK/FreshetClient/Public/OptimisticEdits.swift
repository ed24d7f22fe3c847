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
/// Rows are not added to lists: only the server knows which lists have them, and where.
/// Source: SDK specification §4.
public struct OptimisticEdits: Sendable {
    package private(set) var changes: [OptimisticChange] = []
    /// The fields of a row that results show now; nil if none shows it.
    private let shown: @Sendable (EntityID) -> JSONObject?

    package init(shown: @escaping @Sendable (EntityID) -> JSONObject?) { self.shown = shown }

    /// The row with a key. It need not be in a result now: what is set holds for results that show it later, too.
    public subscript<Key: EntityKey>(key: Key) -> EditedRow<Key> {
        get { EditedRow(edited: edited(key), shown: shown(EntityID(key)) ?? JSONObject()) }
        set {
            if !newValue.edited.isEmpty {
                put(key, newValue.edited)
            } else if !edited(key).isEmpty {
                remove(key)
            }
        }
    }

    /// The row goes away.
    public mutating func delete(_ key: some EntityKey) { put(key, nil) }

    private func edited(_ key: some EntityKey) -> JSONObject {
        changes.last { $0.type == type(of: key).entityType && $0.key == key.keyValues.map(\.json) }?.fields
            ?? JSONObject()
    }

    private mutating func put(_ key: some EntityKey, _ fields: JSONObject?) {
        remove(key)
        changes.append(
            OptimisticChange(type: type(of: key).entityType, key: key.keyValues.map(\.json), fields: fields))
    }

    private mutating func remove(_ key: some EntityKey) {
        let type = type(of: key).entityType
        let values = key.keyValues.map(\.json)
        changes.removeAll { $0.type == type && $0.key == values }
    }
}

/// The fields of a row of a table, as they are shown and are expected to become. Generated code adds them as
/// properties, for each field that the connector's queries show; their names are those in results.
///
/// A property is what was set, or else what the app's results show; nil if that is null or no result in memory shows
/// it. Setting nil means null; where the field cannot be null, it takes back what was set.
public struct EditedRow<Key: EntityKey>: Sendable {
    fileprivate var edited: JSONObject
    fileprivate let shown: JSONObject

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
