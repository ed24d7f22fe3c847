import FreshetStore
public import FreshetTypes
import JSON

/// A change of a row in the results that the app follows or reads, whatever caused it: a live query, a single read, or
/// the app's own mutation. It covers what the app follows, not whole tables. Source: SDK specification §3.
public struct EntityChange<Key: EntityKey>: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// The row came into the first result.
        case created
        /// These fields changed, by response key.
        case updated(fields: [String])
        /// The row left the last result: it was deleted, or no result shows it any more.
        case deleted
    }

    public let kind: Kind
    public let key: Key
    /// The known fields, by response key; after a deletion the last known.
    public let fields: [String: AnyValue]
}

/// Changes of the rows of one type. It ends with `.unavailable` if its reader falls too far behind.
public struct EntityChanges<Key: EntityKey>: AsyncSequence, Sendable {
    public typealias Element = EntityChange<Key>
    public typealias Failure = FreshetError

    let link: ConnectorLink

    public func makeAsyncIterator() -> Iterator { Iterator(link: link) }

    public struct Iterator: AsyncIteratorProtocol {
        public typealias Element = EntityChange<Key>
        public typealias Failure = FreshetError

        let link: ConnectorLink
        private var events: AsyncStream<ObservedEvent>.Iterator?

        init(link: ConnectorLink) { self.link = link }

        public mutating func next() async throws(FreshetError) -> Element? {
            if events == nil {
                let stream = await (try link.engine()).observe(Key.entityType)
                events = stream.makeAsyncIterator()
            }
            while case .changed(let event)? = await events?.next() {
                if let change = Self.change(event) { return change }
            }
            if Task.isCancelled { return nil }
            throw FreshetError(.unavailable, "changes were not read fast enough")
        }

        private static func change(_ event: EntityEvent) -> Element? {
            let kind: EntityChange<Key>.Kind =
                switch event.kind {
                case .created: .created
                case .updated(let fields): .updated(fields: fields)
                case .deleted: .deleted
                }
            let members = JSONObject(zip(Key.keyFields, event.record.key))
            guard let key = try? Key(from: ObjectReader(members)) else { return nil }
            return EntityChange(
                kind: kind, key: key, fields: AnyValue(json: .object(event.record.fields)).objectValue ?? [:])
        }
    }
}

/// The order of a list.
public struct SortOrder<Item>: Sendable {
    let precedes: @Sendable (Item, Item) -> Bool

    public static func ascending<Value: Comparable & Sendable>(
        _ path: any KeyPath<Item, Value> & Sendable
    ) -> SortOrder { SortOrder { $0[keyPath: path] < $1[keyPath: path] } }

    public static func descending<Value: Comparable & Sendable>(
        _ path: any KeyPath<Item, Value> & Sendable
    ) -> SortOrder { SortOrder { $0[keyPath: path] > $1[keyPath: path] } }

    /// This order, with another one for equal items.
    public func then(_ next: SortOrder) -> SortOrder {
        SortOrder { left, right in
            if precedes(left, right) { return true }
            return !precedes(right, left) && next.precedes(left, right)
        }
    }
}

/// All items of a list, filtered and sorted.
public struct QuerySnapshot<Item: Sendable>: Sendable {
    public let items: [Item]
    /// Whether these are the server's present items: the link is up, no queued mutation is pending, and the server has
    /// sent what those were expected to change. One that was applied is pending until the server says that the live
    /// queries show it, or that it cannot tell, at most for 15 seconds; not without a WebSocket, with a server that is
    /// too old to be waited for, or if it names no position.
    public let isSynced: Bool
}

/// Snapshots of a list: the cached items at once, then one snapshot for each change.
public struct QuerySnapshots<Operation: QueryOperation, Item: Sendable>: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot<Item>
    public typealias Failure = FreshetError

    let results: LiveResults<Operation>
    let items: @Sendable (Operation.Data) -> [Item]

    public func makeAsyncIterator() -> Iterator {
        Iterator(results: results.makeAsyncIterator(), items: items)
    }

    public struct Iterator: AsyncIteratorProtocol {
        public typealias Element = QuerySnapshot<Item>
        public typealias Failure = FreshetError

        var results: LiveResults<Operation>.Iterator
        let items: @Sendable (Operation.Data) -> [Item]

        public mutating func next() async throws(FreshetError) -> Element? {
            while let result = try await results.next() {
                guard let data = result.data else { continue }
                return QuerySnapshot(
                    items: items(data), isSynced: result.isConfirmed && !result.hasPendingMutations)
            }
            return nil
        }
    }
}

extension FreshetConnector {
    /// Changes of the rows of one type among all results that the app follows or reads.
    public func observe<Key: EntityKey>(_ type: Key.Type) -> EntityChanges<Key> { EntityChanges(link: link) }

    /// A list of a live query, filtered and sorted in the app.
    /// - Parameters:
    ///   - list: the list in the query's data.
    ///   - isIncluded: which items; nil: all.
    ///   - order: nil: the server's.
    public func observeQuery<Operation: QueryOperation, Item: Sendable>(
        _ query: Query<Operation>, _ list: any KeyPath<Operation.Data, [Item]> & Sendable,
        where isIncluded: (@Sendable (Item) -> Bool)? = nil, sort order: SortOrder<Item>? = nil
    ) -> QuerySnapshots<Operation, Item> {
        QuerySnapshots(results: query.live()) { data in
            var items = data[keyPath: list]
            if let isIncluded { items = items.filter(isIncluded) }
            if let order { items.sort(by: order.precedes) }
            return items
        }
    }
}
