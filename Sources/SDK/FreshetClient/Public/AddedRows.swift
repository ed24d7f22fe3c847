import FreshetStore
public import FreshetTypes
import JSON

/// The place of an added row in its list.
public enum ListPlace<Key: EntityKey>: Sendable, Hashable {
    case start
    case end
    /// The place before or after another row; the end, if the list lacks that.
    case before(Key)
    case after(Key)
}

extension OptimisticEdits {
    /// A row is added to a list of a query, at the top of its data. The key's fields are set; set those that the
    /// query's rows need besides, and that results do not show already.
    ///
    ///     expected.insert(MovieKey(id: id), into: movies.listMovies(), at: .start) { row in row.title = "Alien" }
    ///
    /// `enqueue` throws `.invalidEdit` if the query has no such list or, without `list`, several, and if its data
    /// cannot be read with the row in it.
    /// - Parameter list: the list's response key; nil: the only one with rows of the key's table.
    public mutating func insert<Key: EntityKey, Operation: QueryOperation>(
        _ key: Key, into query: Query<Operation>, list: String? = nil, at place: ListPlace<Key> = .end,
        _ edit: (inout EditedRow<Key>) -> Void = { _ in }
    ) {
        do throws(FreshetError) {
            guard link == nil || query.link === link else {
                throw FreshetError(.invalidEdit, "\(Operation.name) is a query of another connector")
            }
            var row = EditedRow<Key>(edited: JSONObject(), shown: shownHere(key).merging(edited(key)))
            edit(&row)
            put(try AddedRow(key, row, query, list, documents(query.stored)).change(at: place))
        } catch {
            failure = failure ?? error
        }
    }
}

/// A row that is to be added to a list that is to have it.
struct AddedRow<Key: EntityKey, Operation: QueryOperation> {
    private let key: Key
    private let query: StoredQuery
    private let list: String
    private let fields: JSONObject
    private let known: JSONObject
    private let members: JSONObject

    /// - Parameters:
    ///   - list: its name; nil: the only one that fits.
    ///   - document: the query's result; nil if it is not in memory.
    /// - Throws: `.invalidEdit`.
    init(
        _ key: Key, _ row: EditedRow<Key>, _ query: Query<Operation>, _ list: String?, _ document: JSONValue?
    ) throws(FreshetError) {
        self.key = key
        self.query = query.stored
        let name = Operation.name
        let candidates = Operation.entities.members.filter {
            $0.value.type == Key.entityType && (list == nil || $0.key == list)
        }
        var found: [(list: String, fields: JSONObject, members: JSONObject, problem: FreshetError?)] = []
        for (list, shape) in candidates.sorted(by: { $0.key < $1.key }) {
            let (fields, members) = Self.split(key, shape.key)
            let edited = fields.merging(row.edited)
            let element = row.shown.merging(edited).merging(members)
            switch Self.check(list, .object(element), document) {
            case .noList: continue
            case .fits: found.append((list, edited, members, nil))
            case .fails(let error): found.append((list, edited, members, error))
            }
        }
        guard let first = found.first else {
            throw FreshetError(
                .invalidEdit, "\(name) has no list \(list.map { "\($0) " } ?? "")with rows of \(Key.entityType)")
        }
        guard found.count == 1 else {
            throw FreshetError(
                .invalidEdit,
                "\(name) has several lists with rows of \(Key.entityType): name one of "
                    + found.map(\.list).joined(separator: ", "))
        }
        if let problem = first.problem { throw problem }
        (self.list, fields, members) = (first.list, first.fields, first.members)
        known = row.shown
    }

    /// The key's fields as members of a row, those of nested objects apart.
    private static func split(_ key: Key, _ paths: [String]) -> (fields: JSONObject, members: JSONObject) {
        var (fields, members) = (JSONObject(), JSONObject())
        for (path, value) in zip(paths, key.keyValues) {
            let names = path.split(separator: ".").map(String.init)
            if names.count == 1 {
                fields[path] = value.json
            } else if let first = names.first {
                members[first] = merging(value.json, at: names.dropFirst(), members[first])
            }
        }
        return (fields, members)
    }

    private static func merging(_ value: JSONValue, at path: ArraySlice<String>, _ former: JSONValue?) -> JSONValue {
        guard let first = path.first else { return value }
        var object = former?.objectValue ?? JSONObject()
        object[first] = merging(value, at: path.dropFirst(), object[first])
        return .object(object)
    }

    private enum Check {
        case fits
        case noList
        case fails(FreshetError)
    }

    /// Reads the data with the row as the list's only one.
    private static func check(_ list: String, _ row: JSONValue, _ document: JSONValue?) -> Check {
        let name = Operation.name
        var data = document?.objectValue ?? JSONObject()
        if let present = data[list], present.arrayValue == nil { return .noList }
        data[list] = .array([row])
        do {
            _ = try Operation.Data(result: AnyValue(json: .object(data)))
            return .fits
        } catch {
            guard error.path.first == list else {
                return .fails(
                    FreshetError(
                        .invalidEdit,
                        "\(name) has to be in memory for a row to be added, since its data has more than \(list)"))
            }
            // An object in place of a list.
            if error.path.count == 1 { return .noList }
            let field = error.path.dropFirst(2).joined(separator: ".")
            let problem = "the row for \(list) of \(name) does not fit"
            return .fails(
                FreshetError(.invalidEdit, "\(problem): \(field): expected \(error.expected), found \(error.found)"))
        }
    }

    func change(at place: ListPlace<Key>) -> OptimisticChange {
        let stored: RowInsertion.Place =
            switch place {
            case .start: .start
            case .end: .end
            case .before(let key): .before(EntityID(key))
            case .after(let key): .after(EntityID(key))
            }
        return OptimisticChange(
            type: Key.entityType, key: key.keyValues.map(\.json), fields: fields,
            insertion: RowInsertion(
                result: query.key, revision: query.revision, list: list, place: stored, known: known,
                members: members))
    }
}
