import FreshetLink
import FreshetSQLite
package import FreshetStore
package import FreshetTypes
import JSON

extension Engine {
    /// Follows a query: its cached result at once, then the server's.
    package func subscribe(_ query: StoredQuery) async -> AsyncStream<FeedEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: FeedEvent.self, bufferingPolicy: .bufferingNewest(1))
        do throws(FreshetError) {
            try await prepare()
        } catch {
            continuation.yield(.ended(error))
            continuation.finish()
            return stream
        }
        let subscriber = number()
        let key = query.key
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.unsubscribe(key, subscriber) }
        }
        if feeds[key] != nil {
            // A stop unconfirms silently.
            emit(key)
            feeds[key]?.subscribers[subscriber] = continuation
            if let emitted = feeds[key]?.emitted { continuation.yield(.snapshot(emitted)) }
            return stream
        }
        var feed = Feed(id: FeedID(number()), query: query)
        feed.subscribers[subscriber] = continuation
        feeds[key] = feed
        keys[feed.id] = key
        store.follow(key)
        await load(query)
        // The user may have changed, or the subscriber gone, while the file was read.
        guard feeds[key]?.id == feed.id else { return stream }
        if let stored = store.read(key, revision: query.revision) {
            feeds[key]?.snapshot.document = stored.document
            feeds[key]?.snapshot.fetchedAtMs = stored.fetchedAtMs
            feeds[key]?.snapshot.staleSinceMs = stored.fetchedAtMs
        }
        if case .reconnecting(_, let error) = status { feeds[key]?.snapshot.error = error }
        emit(key)
        let held = store.tagged(key, revision: query.revision).map { HeldResult(tag: $0.tag, data: $0.document) }
        perform(
            link.follow(
                feed.id,
                FeedRequest(connector: identity.connector, operation: key.operation, variables: query.variables),
                held: held, nowMs: time.nowMs))
        return stream
    }

    private func unsubscribe(_ key: ResultKey, _ subscriber: Int) {
        guard feeds[key]?.subscribers.removeValue(forKey: subscriber) != nil else { return }
        guard let feed = feeds[key], feed.subscribers.isEmpty else { return }
        remove(key, feed)
        perform(link.unfollow(feed.id, nowMs: time.nowMs))
    }

    private func remove(_ key: ResultKey, _ feed: Feed) {
        feeds[key] = nil
        keys[feed.id] = nil
        store.dropPartial(key)
        apply(store.unfollow(key))
    }

    /// Brings a result of an earlier run from the file.
    func load(_ query: StoredQuery) async {
        guard let file, let scope, !store.contains(query.key) else { return }
        var saved: SavedResult?
        var invalidationsBefore: Int
        repeat {
            // The file drops what is invalid before the next read.
            invalidationsBefore = invalidations
            saved = await file.result(query.key, revision: query.revision, scope: scope, nowMs: time.wallMs)
        } while invalidations != invalidationsBefore
        guard self.scope == scope, let saved else { return }
        store.load(saved)
    }

    // MARK: From the link

    func received(_ id: FeedID, _ data: JSONValue, _ errors: [ResponseError], _ tag: String?) {
        guard let key = keys[id], let feed = feeds[key] else { return }
        var snapshot = FeedSnapshot(
            document: data, source: .server, fetchedAtMs: time.wallMs, isConfirmed: true, errors: errors)
        // A partial result is shown, not kept.
        if !errors.isEmpty {
            store.showPartial(
                key, data, feed.query.entities, revision: feed.query.revision,
                failed: Set(errors.compactMap { $0.path.last?.stringValue }))
            snapshot.document = store.partial(key) ?? data
            snapshot.error = FreshetError(errors)
            feeds[key]?.snapshot = snapshot
            return emit(key)
        }
        store.dropPartial(key)
        let outcome = store.write(
            key, data, feed.query.entities, revision: feed.query.revision, atMs: time.wallMs, tag: tag)
        snapshot.document = store.read(key, revision: feed.query.revision)?.document ?? data
        feeds[key]?.snapshot = snapshot
        apply(outcome, except: key)
        emit(key)
    }

    func refreshFailed(_ id: FeedID, _ error: FreshetError) {
        guard let key = keys[id] else { return }
        unconfirm(key, error)
    }

    func feedEnded(_ id: FeedID, _ error: FreshetError) {
        guard let key = keys[id], let feed = feeds[key] else { return }
        remove(key, feed)
        for continuation in feed.subscribers.values {
            continuation.yield(.ended(error))
            continuation.finish()
        }
    }

    func lost(_ error: FreshetError) {
        for key in feeds.keys.sorted() { unconfirm(key, error) }
    }

    private func unconfirm(_ key: ResultKey, _ error: FreshetError?) {
        guard feeds[key] != nil else { return }
        unconfirmSilently(key)
        feeds[key]?.snapshot.error = error
        emit(key)
    }

    /// Subscribers learn it with the next state.
    func unconfirmSilently(_ key: ResultKey) {
        guard feeds[key]?.snapshot.isConfirmed == true else { return }
        feeds[key]?.snapshot.staleSinceMs = time.wallMs
        feeds[key]?.snapshot.isConfirmed = false
    }

    // MARK: From the store

    /// Keeps, shows and reports what a change of the store did.
    func apply(_ outcome: StoreOutcome, except written: ResultKey? = nil) {
        if let scope, let file { file.save(outcome.saved, scope: scope, nowMs: time.wallMs) }
        for key in outcome.changed.sorted() where key != written {
            guard let feed = feeds[key] else { continue }
            let document =
                feed.snapshot.errors.isEmpty
                ? store.read(key, revision: feed.query.revision)?.document : store.partial(key)
            guard let document else { continue }
            feeds[key]?.snapshot.document = document
            emit(key)
        }
        report(outcome.events)
    }

    /// Sends a feed's state to its subscribers if it says anything new.
    func emit(_ key: ResultKey) {
        guard let feed = feeds[key] else { return }
        var snapshot = feed.snapshot
        guard snapshot.document != nil || snapshot.error != nil else { return }
        snapshot.hasPendingMutations = pendingCount > 0
        guard feed.emitted != snapshot else { return }
        feeds[key]?.emitted = snapshot
        for continuation in feed.subscribers.values { continuation.yield(.snapshot(snapshot)) }
    }

    /// A subscriber could not read a cached result: it is removed, and the server's awaited.
    package func unreadable(_ key: ResultKey) {
        guard let feed = feeds[key], feed.snapshot.source != .server else { return }
        _ = store.remove(key)
        if let scope { file?.remove([key], scope: scope) }
        feeds[key]?.snapshot.document = nil
        perform(link.discard(feed.id, nowMs: time.nowMs))
    }

    /// The server says what is to be dropped. What is followed stays on the screen, unconfirmed, and is fetched again.
    func invalidated(_ invalidation: Invalidation) {
        invalidations += 1
        let selection = StoreSelection(invalidation, of: identity.connector)
        file?.invalidate(selection, position: invalidation.position)
        let outcome = store.invalidate(selection)
        apply(outcome)
        var concerned = Set(outcome.evicted)
        // The rows of partial results are not in the store, and what they lack may be what has changed.
        for (key, feed) in feeds
        where !feed.snapshot.errors.isEmpty && selection.mayConcern(partialResultOf: key.operation) {
            concerned.insert(key)
        }
        for key in concerned.sorted() {
            guard let feed = feeds[key] else { continue }
            unconfirm(key, feed.snapshot.errors.isEmpty ? nil : feed.snapshot.error)
            perform(link.discard(feed.id, nowMs: time.nowMs))
        }
    }

    // MARK: Observing rows

    package func observe(_ type: String) async -> AsyncStream<ObservedEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ObservedEvent.self, bufferingPolicy: .bufferingOldest(Self.observedEventsMax))
        let number = number()
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endObserver(number) }
        }
        observers[number] = Observer(type: type, continuation: continuation)
        return stream
    }

    /// The number of observers, for tests.
    package var observerCount: Int { observers.count }

    private func endObserver(_ number: Int) { observers[number] = nil }

    private func report(_ events: [EntityEvent]) {
        guard !observers.isEmpty else { return }
        for event in events {
            for (number, observer) in observers where observer.type == event.record.type {
                if case .dropped = observer.continuation.yield(.changed(event)) {
                    observers[number] = nil
                    observer.continuation.finish()
                }
            }
        }
    }

    package func statusStream() -> AsyncStream<LinkStatus> {
        let (stream, continuation) = AsyncStream.makeStream(of: LinkStatus.self, bufferingPolicy: .bufferingNewest(16))
        let number = number()
        statuses[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endStatus(number) }
        }
        if let staleSinceMs { continuation.yield(.stale(since: Timestamp(ms: staleSinceMs))) }
        continuation.yield(status)
        return stream
    }

    private func endStatus(_ number: Int) { statuses[number] = nil }
}

extension StoreSelection {
    fileprivate init(_ invalidation: Invalidation, of connector: String) {
        self.init()
        guard let subjects = invalidation.subjects else {
            isEverything = true
            return
        }
        for subject in subjects {
            switch subject {
            case .entity(let id): entities.insert(EntityID(id))
            case .operation(let name) where name.hasPrefix(connector + "/"):
                operations.insert(String(name.dropFirst(connector.count + 1)))
            case .operation: break
            case .connector(let name): if name == connector { isEverything = true }
            }
        }
    }
}

package enum ObservedEvent: Sendable {
    case changed(EntityEvent)
}
