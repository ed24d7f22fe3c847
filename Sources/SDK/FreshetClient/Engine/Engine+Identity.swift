import Foundation
import FreshetLink
import FreshetQueue
import FreshetSQLite
import FreshetStore
import FreshetTransport
package import FreshetTypes
import JSON

extension Engine {
    /// Learns the user and opens the file, once.
    func prepare() async throws(FreshetError) {
        if isStopped { await start() }
        if scope != nil {
            // What waits in the file comes before what is new.
            await queueLoading?.value
            return
        }
        if let preparation {
            if let error = await preparation.value { throw error }
            return
        }
        let preparation = Task<FreshetError?, Never> { await prepareNow() }
        self.preparation = preparation
        let error = await preparation.value
        self.preparation = nil
        if let error { throw error }
    }

    private func prepareNow() async -> FreshetError? {
        do throws(FreshetError) {
            try openFile()
        } catch {
            return error
        }
        // Without a token, so that cached data can be shown offline.
        if let named = await namedScope() {
            await adopt(named)
            return nil
        }
        switch await fetchIdentity() {
        case .success: return nil
        case .failure(let error): return error
        }
    }

    /// The scope of the user as the app names them; nil: the token says who it is.
    private func namedScope() async -> String? {
        guard let user = auth.user else { return nil }
        return Identity(token: nil, user: await user() ?? "").scope
    }

    private func openFile() throws(FreshetError) {
        guard case .persistent(let directory) = cache.storage, file == nil else { return }
        let folder: String
        if let directory {
            folder = directory
        } else {
            let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
            folder = (support?.path ?? NSTemporaryDirectory()) + "/freshet"
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw FreshetError(.storage, "the cache's folder cannot be made: \(error)")
        }
        file = try FileStore(path: folder + "/" + fileName, bytesMax: cache.maxBytes)
        link.resumeInvalidations(at: file?.invalidationPosition())
    }

    /// Connectors, and servers of one connector, have files of their own.
    private var fileName: String {
        let key = [identity.service, identity.location, identity.connector, endpoint.description]
        let digest = EntityID(type: "file", key: key.map { .string($0) }).description.prefix(12)
        let name = identity.connector.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        return "\(name)-\(digest).sqlite"
    }

    /// Asks the app for its token. Calls at the same time share the answer.
    func fetchIdentity() async -> Result<Identity, FreshetError> {
        if let fetching { return await fetching.value }
        let fetching = Task<Result<Identity, FreshetError>, Never> {
            let result = await askForIdentity()
            if case .success(let identity) = result {
                present = identity
                await adopt(identity.scope)
            }
            self.fetching = nil
            return result
        }
        self.fetching = fetching
        return await fetching.value
    }

    private func askForIdentity() async -> Result<Identity, FreshetError> {
        var user = await auth.user?()
        do {
            for _ in 0..<Self.identityTriesMax {
                let token = try await auth.token()
                // Another user may have signed in meanwhile, and the token be theirs.
                let present = await auth.user?()
                if present == user {
                    return .success(Identity(token: token, user: auth.user == nil ? nil : user ?? ""))
                }
                user = present
            }
            return .failure(FreshetError(.unauthenticated, "the app's user changes all the time"))
        } catch {
            return .failure(FreshetError(.unauthenticated, "the app has no token: \(error)"))
        }
    }

    private static let identityTriesMax = 3

    /// The present user and token, unless it is about to expire.
    /// - Parameter isRejected: the server has just rejected this token.
    func currentIdentity(rejected isRejected: String?? = nil) async throws(FreshetError) -> Identity {
        if let present, isRejected != .some(present.token) {
            let leadMs = options.tokenLead.milliseconds
            let isFresh = present.expiresAtMs.map { $0 - min(leadMs, 5_000) > time.wallMs } ?? true
            if isFresh { return present }
        }
        return try await fetchIdentity().get()
    }

    /// Makes a user the present one. Another user's feeds end; his cached data and waiting mutations stay in the file
    /// until he returns. Source: SDK specification §4, "another user's data is never shown and never lost".
    func adopt(_ new: String) async {
        guard new != scope else { return }
        let former = scope
        scope = new
        store = emptyStore()
        if let former {
            _ = queues[former]?.setOnline(false, nowMs: time.wallMs)
            for (_, feed) in feeds {
                perform(link.unfollow(feed.id, nowMs: time.nowMs))
                for continuation in feed.subscribers.values {
                    continuation.yield(.ended(Self.userChanged))
                    continuation.finish()
                }
            }
            (feeds, keys) = ([:], [:])
            perform(link.identityChanged(nowMs: time.nowMs))
        }
        let loading = Task { await loadQueue(new) }
        queueLoading = loading
        await loading.value
    }

    /// The app says that its user or token has changed.
    package func authChanged() async throws(FreshetError) {
        // An answer that is under way may be about the former user.
        while let fetching { _ = await fetching.value }
        let former = present
        switch await fetchIdentity() {
        case .success(let identity):
            if identity.token != former?.token { perform(link.identityChanged(nowMs: time.nowMs)) }
        case .failure(let error):
            // The former user has left, even if nothing is known of the present one's token.
            if let named = await namedScope(), named != scope {
                present = nil
                await adopt(named)
            }
            throw error
        }
    }

    // MARK: Stopping

    package func stop() async {
        guard !isStopped else { return }
        isStopped = true
        // First, since the link's waits end now: what they waited for is not shown by that.
        if let scope { _ = queues[scope]?.setOnline(false, nowMs: time.wallMs) }
        for key in feeds.keys { unconfirmSilently(key) }
        perform(link.stop())
    }

    package func start() async {
        isStopped = false
        perform(link.start(nowMs: time.nowMs))
        await setQueueOnline()
    }

    /// Prepares, so that mutations of an earlier run are sent.
    package func resume() async throws(FreshetError) {
        try await prepare()
        await setQueueOnline()
    }

    /// Stops, and empties the cache of all users. Mutations that wait stay, with what they are expected to change.
    package func clear() async throws(FreshetError) {
        await stop()
        try openFile()
        // What is under way now is not kept; nor is what was read from the file before it was emptied.
        invalidations += 1
        try await file?.clear()
        invalidations += 1
        store = emptyStore()
        showQueue()
        for (key, feed) in feeds {
            store.follow(key)
            feeds[key]?.snapshot = FeedSnapshot()
            feeds[key]?.emitted = nil
            perform(link.discard(feed.id, nowMs: time.nowMs))
        }
    }

    private func emptyStore() -> StoreMachine {
        StoreMachine(bytesMax: Self.memoryBytesMax(cache), uses: store.uses)
    }

    /// There is a network again, or another one, or the app is used again: nothing waits any longer.
    package func networkChanged() async {
        perform(link.networkChanged(nowMs: time.nowMs))
        await setQueueOnline()
    }
}
