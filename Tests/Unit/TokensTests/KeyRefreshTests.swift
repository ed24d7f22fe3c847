import Foundation
import JSON
import LiveModel
import Settings
import Synchronization
import TestSupport
import Testing

@testable internal import Tokens

@Suite("Fetching keys")
struct KeyRefreshTests {
    private let one: TokenFactory.Key
    private let two: TokenFactory.Key
    private let stub: StubSource
    private let verifier: TokenVerifier
    private let start = TokenFactory.nowMs

    init() async throws {
        one = try TokenFactory.rsa.get()
        two = try TokenFactory.otherRSA.get()
        stub = StubSource(TokenFactory.jwks([try TokenFactory.jwk(one, kid: "one")]))
        verifier = try await TokenVerifier(.firebase(projectId: "demo", source: stub.source))
    }

    private var tokenOfOne: String { get throws { try TokenFactory.token(kid: "one", key: one) } }
    private var tokenOfTwo: String { get throws { try TokenFactory.token(kid: "two", key: two) } }

    @Test("keys are fetched at the first token, not before, and then serve at once")
    func lazily() async throws {
        #expect(stub.fetches == 0)
        #expect(try verifier.verifyNow(tokenOfOne, nowMs: start) == nil)
        _ = try await verifier.verify(tokenOfOne, nowMs: start)
        #expect(stub.fetches == 1)
        #expect(try verifier.verifyNow(tokenOfOne, nowMs: start) != nil)
        #expect(stub.fetches == 1)
    }

    @Test("an unknown key makes one fetch in a while, however many tokens name one")
    func unknownKey() async throws {
        try await verifier.loadKeys(nowMs: start)
        #expect(
            await refusal(verifier, try tokenOfTwo, nowMs: start)?.message == "the token is signed with an unknown key"
        )
        #expect(stub.fetches == 1)
        stub.set(TokenFactory.jwks([try TokenFactory.jwk(one, kid: "one"), try TokenFactory.jwk(two, kid: "two")]))
        #expect(await refusal(verifier, try tokenOfTwo, nowMs: start + 9_999) != nil)
        #expect(stub.fetches == 1)
        #expect(await refusal(verifier, try tokenOfTwo, nowMs: start + 10_000) == nil)
        #expect(stub.fetches == 2)
        for number in 0..<20 {
            let invented = try TokenFactory.token(kid: "k\(number)", key: two)
            #expect(await refusal(verifier, invented, nowMs: start + 10_001) != nil)
        }
        #expect(stub.fetches == 2)
    }

    @Test("an old set is fetched again; if that fails the old keys stay and another attempt follows later")
    func refresh() async throws {
        try await verifier.loadKeys(nowMs: start)
        stub.set(nil)
        let later = start + 3_600_000
        let fresh = TokenFactory.claims(["exp": .int(later / 1000 + 3600)])
        #expect(await refusal(verifier, try TokenFactory.token(fresh, key: one), nowMs: later) == nil)
        #expect(stub.fetches == 2)
        let second = TokenFactory.claims(["exp": .int(later / 1000 + 3601)])
        #expect(await refusal(verifier, try TokenFactory.token(second, key: one), nowMs: later + 1) == nil)
        #expect(stub.fetches == 2)
        let third = TokenFactory.claims(["exp": .int(later / 1000 + 3602)])
        #expect(await refusal(verifier, try TokenFactory.token(third, key: one), nowMs: later + 10_000) == nil)
        #expect(stub.fetches == 3)
    }

    @Test("a withdrawn key verifies nothing any more, not even a remembered token")
    func withdrawn() async throws {
        #expect(await refusal(verifier, try tokenOfOne, nowMs: start) == nil)
        stub.set(TokenFactory.jwks([try TokenFactory.jwk(two, kid: "two")]))
        #expect(await refusal(verifier, try tokenOfTwo, nowMs: start + 10_000) == nil)
        #expect(
            await refusal(verifier, try tokenOfOne, nowMs: start + 10_001)?.message
                == "the token is signed with an unknown key")
    }

    @Test("tokens without any keys to check them are to be tried again, not refused")
    func noKeys() async throws {
        stub.set(nil)
        let error = await refusal(verifier, try tokenOfOne, nowMs: start)
        #expect(error?.code == .unavailable && error?.retryAfterMs != nil)
        _ = await refusal(verifier, try tokenOfOne, nowMs: start + 1)
        #expect(stub.fetches == 1)
        let setup = await #expect(throws: TokenSetupError.self) { try await verifier.loadKeys(nowMs: start + 2) }
        #expect(setup?.code == .keySetUnreadable)
    }

    @Test("HS256 tokens cause no fetch")
    func hs256() async throws {
        let token = try TokenFactory.token(alg: "HS256", key: TokenFactory.secret)
        #expect(await refusal(verifier, token, nowMs: start)?.code == .unauthenticated)
        #expect(stub.fetches == 0)
    }

    @Test("callers at the same time share one fetch")
    func shared() async throws {
        let gate = AsyncStream<Void>.makeStream()
        let started = AsyncStream<Void>.makeStream()
        let json = TokenFactory.jwks([try TokenFactory.jwk(one, kid: "one")])
        let fetches = Mutex(0)
        let source = KeySource(name: "gate") {
            fetches.withLock { $0 += 1 }
            started.continuation.yield()
            for await _ in gate.stream { break }
            return json
        }
        let verifier = try await TokenVerifier(.firebase(projectId: "demo", source: source))
        let token = try tokenOfOne
        let nowMs = start
        let uids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await verifier.verify(token, nowMs: nowMs).auth.uid } }
            for await _ in started.stream { break }
            // For good: a second fetch is to fail the test, not to wait for ever.
            gate.continuation.finish()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(uids == Array(repeating: "ann", count: 8))
        #expect(fetches.withLock { $0 } == 1)
    }

    @Test("only usable keys of a key set are taken")
    func usableKeys() async throws {
        let keys = [
            try TokenFactory.jwk(one, kid: "encryption", ["use": "enc"]),
            try TokenFactory.jwk(one, kid: "other-alg", ["alg": "RS512"]),
            try TokenFactory.jwk(one, kid: "no-modulus", ["n": nil]),
            try TokenFactory.jwk(TokenFactory.ec, kid: "curve", ["crv": "P-384"]),
            try TokenFactory.jwk(TokenFactory.ec, kid: "point", ["x": "AAAA"]),
            try TokenFactory.jwk(one, kid: "short", ["n": "AQAB"]),
            try TokenFactory.jwk(TokenFactory.secret, kid: "symmetric"),
            "no object", try TokenFactory.jwk(two, kid: "good"),
        ]
        let set = try await KeySet(json: TokenFactory.jwks(keys))
        #expect(set.keys.map(\.id) == ["good"])
    }

    @Test("a malformed key set is refused", arguments: ["", "[]", "{}", #"{"keys": []}"#, #"{"keys": {}}"#, "<html>"])
    func noKeySet(text: String) async {
        let error = await #expect(throws: TokenSetupError.self) { try await KeySet(json: Array(text.utf8)) }
        #expect(error?.code == .keySetInvalid)
    }

    @Test("a key file is read, and read again")
    func file() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let url = URL(filePath: folder.path + "/keys.json")
        let verifier = try await TokenVerifier(.firebase(projectId: "demo", source: .file(url.path)))
        let missing = await #expect(throws: TokenSetupError.self) { try await verifier.loadKeys(nowMs: start) }
        #expect(missing?.description.contains(url.path) == true)
        try Data(TokenFactory.jwks([try TokenFactory.jwk(one, kid: "one")])).write(to: url)
        #expect(await refusal(verifier, try tokenOfOne, nowMs: start + 10_000) == nil)
        try Data(repeating: 32, count: KeySource.bytesMax + 1).write(to: url)
        let large = await #expect(throws: TokenSetupError.self) { try await verifier.loadKeys(nowMs: start + 20_000) }
        #expect(large?.code == .keySetUnreadable)
    }

    @Test("settings become a policy")
    func settings() throws {
        var auth = Settings().auth
        auth.mode = .firebase
        auth.projectId = "demo"
        auth.leewayMs = 7
        let policy = TokenPolicy(auth, testDownloads)
        #expect(policy.audiences == ["demo"] && policy.issuer == "https://securetoken.google.com/demo")
        #expect(policy.leewayMs == 7 && policy.expiryRequired && !policy.unsignedAllowed)
        guard case .keySet(let source) = policy.trust else {
            Issue.record("no key set")
            return
        }
        #expect(source.name == TokenPolicy.firebaseKeysURL)
        auth.jwksFile = "keys.json"
        auth.audience = "mine"
        let own = TokenPolicy(auth, testDownloads)
        #expect(own.audiences == ["mine"])
        if case .keySet(let source) = own.trust { #expect(source.name == "keys.json") }
        #expect(TokenPolicy(Settings(profile: .dev).auth, testDownloads).unsignedAllowed)
        #expect(policy.expiryRequired && TokenPolicy(Settings(profile: .serve).auth, testDownloads).expiryRequired)
        #expect(!TokenPolicy(Settings(profile: .dev).auth, testDownloads).expiryRequired)
    }
}
