import AuctionsClient
import FreshetClient
import FreshetTesting
import JSON
import TestSupport
import Testing

/// Another user's data is never shown and never lost.
@Suite(.timeLimit(.minutes(1)))
struct UserTests {
    private func account(_ name: String) -> AnyValue {
        ["user": ["uid": AnyValue(name), "name": AnyValue(name), "city": nil, "about": nil]]
    }

    @Test func aLiveQueryEndsWhenTheUserChanges() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        server.set(MyAccount.self, to: account("ada"))
        let auctions = server.auctions(auth: user.auth)
        var states = auctions.myAccount().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        user.become("ben")
        server.set(MyAccount.self, to: account("ben"))
        try await auctions.authChanged()
        let error = await #expect(throws: FreshetError.self) {
            while try await states.next() != nil {}
        }
        #expect(error?.code == .userChanged)
        var next = auctions.myAccount().live().makeAsyncIterator()
        let shown = try #require(try await next.next())
        #expect(shown.data?.user?.uid == "ben")
    }

    @Test func cachedDataOfAnotherUserIsNotShownAndComesBackWithThem() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let user = TestUser("ada")
            let cache = CacheSettings.persistent(maxAge: .seconds(60), directory: folder)
            let auctions = server.auctions(cache: cache, auth: user.auth)
            server.set(MyAccount.self, to: account("ada"))
            _ = try await auctions.myAccount().get()
            user.become("ben")
            try await auctions.authChanged()
            server.goOffline()
            let error = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.cacheOnly) }
            #expect(error?.code == .notCached)
            user.become("ada")
            try await auctions.authChanged()
            #expect(try await auctions.myAccount().get(.cacheOnly).data.user?.uid == "ada")
        }
    }

    @Test func mutationsOfAnotherUserWaitForThem() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let user = TestUser("ada")
            server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
            server.goOffline()
            let auctions = server.auctions(cache: .persistent(directory: folder), auth: user.auth)
            _ = try await auctions.withdrawLot(id: lotID(1)).enqueue()
            user.become("ben")
            try await auctions.authChanged()
            server.goOnline()
            #expect(try await auctions.pendingMutations == [])
            try await auctions.start()
            // What is sent for the other user is sent by now: his own mutation comes later.
            _ = try await auctions.withdrawLot(id: lotID(2)).enqueue().value
            #expect(server.requests.map { $0.token?.prefix(3) } == ["ben"])
            #expect(server.requests.map { $0.variables["id"] } == [AnyValue(lotID(2))])
            var events = try await auctions.queueEvents.makeAsyncIterator()
            user.become("ada")
            try await auctions.authChanged()
            #expect(await events.next()?.operation == "WithdrawLot")
            #expect(server.requests.last?.token?.hasPrefix("ada") == true)
        }
    }

    /// Each attempt asks whose it is: a user who left does not have his mutation sent with the next one's token.
    @Test func aRetryIsNotSentAsAnotherUser() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        let time = ManualTime()
        server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
        server.set(MyAccount.self, to: account("ben"))
        let auctions = server.auctions(auth: user.auth, time: time)
        server.loseAnswers(2)
        let running = Task { try await auctions.withdrawLot(id: lotID(1)).run() }
        try await waitUntil("the mutation that is run") { server.requests.count == 1 }
        var events = try await auctions.queueEvents.makeAsyncIterator()
        _ = try await auctions.withdrawLot(id: lotID(2)).enqueue()
        try await waitUntil("the queued mutation") { server.requests.count == 2 }
        user.become("ben")
        try await auctions.authChanged()
        let advancing = Task {
            while !Task.isCancelled {
                time.advance(1_000)
                await Task.yield()
            }
        }
        defer { advancing.cancel() }
        let error = await #expect(throws: FreshetError.self) { try await running.value }
        // It may have been applied before its user left.
        #expect(error?.code == .outcomeUnknown && error?.idempotencyKey != nil)
        _ = try await auctions.myAccount().get(.serverOnly)
        user.become("ada")
        try await auctions.authChanged()
        #expect(await events.next()?.operation == "WithdrawLot")
        let mutations = server.requests.filter { $0.operation == "WithdrawLot" }
        #expect(mutations.count >= 3 && mutations.allSatisfy { $0.token?.hasPrefix("ada") == true })
    }

    /// Edits that were made of what one user saw do not become a mutation of the next one.
    @Test func aMutationIsOfTheUserWhoseRowsItsEditsRead() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        server.goOffline()
        let auctions = server.auctions(auth: user.auth)
        let engine = try auctions.link.engine()
        let shown = try await engine.shownRows()
        user.become("ben")
        try await auctions.authChanged()
        let error = await #expect(throws: FreshetError.self) {
            try await engine.enqueue("WithdrawLot", [:], group: "", changes: [], as: shown.scope)
        }
        #expect(error?.code == .userChanged)
        #expect(try await auctions.pendingMutations == [])
    }

    /// A user who signs out, and has no token any more, is gone, whatever the provider of tokens says.
    @Test func aUserWhoLeftIsGoneWithoutATokenOfTheNext() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        server.set(MyAccount.self, to: account("ada"))
        server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
        struct SignedOut: Error {}
        let named = user.auth
        let auth = AuthSource.provider(
            user: { await named.user?() },
            token: {
                guard let token = try await named.token() else { throw SignedOut() }
                return token
            })
        let auctions = server.auctions(auth: auth)
        var states = auctions.myAccount().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.goOffline()
        _ = try await auctions.withdrawLot(id: lotID(1)).enqueue()
        user.become(nil)
        let failure = await #expect(throws: FreshetError.self) { try await auctions.authChanged() }
        #expect(failure?.code == .unauthenticated)
        let end = await #expect(throws: FreshetError.self) { while try await states.next() != nil {} }
        #expect(end?.code == .userChanged)
        let missing = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.cacheOnly) }
        #expect(missing?.code == .notCached)
        server.goOnline()
        let requests = server.requests.count
        try await auctions.networkChanged()
        #expect(try await auctions.pendingMutations == [])
        let error = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.serverOnly) }
        #expect(error?.code == .unauthenticated && server.requests.count == requests)
    }

    /// A token that was asked for while the user changed is not taken for the former one's.
    @Test func aTokenOfTheNextUserIsNotTheFormersOne() async throws {
        let server = ScriptedServer()
        let name = Recorder<String>()
        name.add("ada")
        server.set(MyAccount.self, to: account("ben"))
        let auth = AuthSource.provider(
            user: { name.values.last },
            token: {
                // Ben signs in between the two questions.
                name.add("ben")
                return "ben-1"
            })
        let auctions = server.auctions(auth: auth)
        let error = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.serverOnly) }
        #expect(error?.code == .userChanged)
        #expect(server.requests.isEmpty)
    }

    @Test func aRejectedTokenIsAskedForOnceMore() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        server.set(MyAccount.self, to: account("ada"))
        // The first token has expired at the server.
        server.rejectTokens { $0 == "ada-1" }
        let auctions = server.auctions(auth: user.auth)
        _ = try await auctions.myAccount().get()
        #expect(server.requests.map(\.token) == ["ada-1", "ada-2"])
    }

    @Test func aTokenThatStaysRejectedEndsTheQuery() async throws {
        let server = ScriptedServer()
        server.rejectTokens { _ in true }
        let auctions = server.auctions(auth: TestUser("ada").auth)
        var states = auctions.myAccount().live().makeAsyncIterator()
        let error = await #expect(throws: FreshetError.self) {
            while try await states.next() != nil {}
        }
        #expect(error?.code == .unauthenticated)
    }

    @Test func aProviderThatFailsIsNoReasonToShowNothing() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let cache = CacheSettings.persistent(directory: folder)
            server.set(MyAccount.self, to: account("ada"))
            _ = try await server.auctions(cache: cache, auth: TestUser("ada").auth).myAccount().get()
            struct Offline: Error {}
            let auth = AuthSource.provider(user: { "ada" }, token: { throw Offline() })
            let auctions = server.auctions(cache: cache, auth: auth)
            #expect(try await auctions.myAccount().get(.cacheOnly).data.user?.uid == "ada")
            let error = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get() }
            #expect(error?.code == .unauthenticated)
        }
    }
}
