import CryptoExtras
import Foundation
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import NIOPosix
import Settings
import TestSupport
import Testing

@testable internal import Tokens

@Suite("Issuers: certificates, several at once, discovery", .timeLimit(.minutes(1)))
struct IssuersTests {
    private let start = TokenFactory.nowMs
    private static let pool = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab12"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Files of the test's folder, by what they are called.
    private func files(_ keys: [String: [UInt8]]) throws -> [String: String] {
        try folder.write(
            Dictionary(uniqueKeysWithValues: keys.map { ($0 + ".json", String(decoding: $1, as: UTF8.self)) }))
        return Dictionary(uniqueKeysWithValues: keys.keys.map { ($0, "\(folder.path)/\($0).json") })
    }

    @Test("certificates by key id, as Google publishes them, verify while they are valid")
    func certificates() async throws {
        let certificate = try TestCertificate(days: 2)
        let json = JSONWriter.compact(["kid-1": .string(certificate.pem), "kid-2": "no certificate"])
        let verifier = try await TokenVerifier(.firebase(projectId: "demo", source: StubSource(json).source))
        let nowMs = Int64(Date().timeIntervalSince1970 * 1_000)
        func token(kid: String, nowMs: Int64, key: TokenFactory.Key) throws -> String {
            try TokenFactory.token(
                TokenFactory.claims(["iat": .int(nowMs / 1_000 - 10), "exp": .int(nowMs / 1_000 + 3_600)]),
                kid: kid, key: key)
        }
        let good = try token(kid: "kid-1", nowMs: nowMs, key: certificate.key)
        #expect(try await verifier.verify(good, nowMs: nowMs).auth.uid == "ann")
        let forged = try token(kid: "kid-1", nowMs: nowMs, key: try TokenFactory.rsa.get())
        #expect(await refusal(verifier, forged, nowMs: nowMs)?.message == "the token's signature is invalid")
        let unknown = try token(kid: "kid-2", nowMs: nowMs, key: certificate.key)
        #expect(await refusal(verifier, unknown, nowMs: nowMs)?.message == "the token is signed with an unknown key")
        let laterMs = nowMs + 3 * 24 * 3_600_000
        let late = try token(kid: "kid-1", nowMs: laterMs, key: certificate.key)
        #expect(await refusal(verifier, late, nowMs: laterMs)?.message == "the token's signature is invalid")
    }

    @Test("each token is judged by the keys and rules of the issuer that it names, and by no other's")
    func severalIssuers() async throws {
        let (one, two) = (try TokenFactory.rsa.get(), try TokenFactory.otherRSA.get())
        let paths = try files([
            "one": TokenFactory.jwks([try TokenFactory.jwk(one, kid: "one")]),
            "two": TokenFactory.jwks([try TokenFactory.jwk(two, kid: "one")]),
        ])
        defer { for path in paths.values { try? FileManager.default.removeItem(atPath: path) } }
        var auth = Settings().auth
        auth.mode = .firebase
        auth.projectId = "demo"
        auth.jwksFile = paths["one"]
        var cognito = IssuerEntry(issuer: Self.pool)
        cognito.clientIDs = ["app-1"]
        cognito.audiences = ["app-1"]
        cognito.jwksFile = paths["two"]
        cognito.uidClaim = "sub"
        cognito.uidPrefix = "cognito|"
        let issuers = try await TokenIssuers(auth, issuers: [cognito], downloads: testDownloads)
        #expect(await issuers.loadKeys(nowMs: start).isEmpty)

        func judged(_ claims: JSONObject, by key: TokenFactory.Key) async -> String {
            do {
                return try await issuers.verify(try TokenFactory.token(claims, key: key), nowMs: start).auth.uid
            } catch {
                return (error as? RequestError)?.message ?? "\(error)"
            }
        }
        #expect(await judged(TokenFactory.claims(), by: one) == "ann")
        let access = TokenFactory.claims([
            "iss": .string(Self.pool), "aud": nil, "client_id": "app-1", "user_id": "mallory", "token_use": "access",
        ])
        #expect(await judged(access, by: two) == "cognito|ann", "user_id does not count where uidClaim is given")
        let identity = TokenFactory.claims(["iss": .string(Self.pool), "aud": "app-1"])
        #expect(await judged(identity, by: two) == "cognito|ann")
        #expect(await judged(access, by: one) == "the token's signature is invalid", "another issuer's key")
        #expect(await judged(TokenFactory.claims(), by: two) == "the token's signature is invalid")
        var other = access
        other["client_id"] = "app-2"
        #expect(await judged(other, by: two) == "the token is for another audience")
        other["iss"] = "https://elsewhere.example"
        #expect(await judged(other, by: one) == "the token is from another issuer")
        var endless = access
        endless["exp"] = JSONValue?.none
        #expect(await judged(endless, by: two) == "the token is malformed: it has no exp claim")
        var subjectless = access
        subjectless["sub"] = JSONValue?.none
        #expect(await judged(subjectless, by: two) == "the token is malformed: it names no user (sub)")
        cognito.issuer = "https://securetoken.google.com/demo"
        let doubled = cognito
        await #expect(throws: TokenSetupError.self) {
            try await TokenIssuers(auth, issuers: [doubled], downloads: testDownloads)
        }
    }

    @Test("an issuer's configuration leads to its keys")
    func discovery() async throws {
        let key = try TokenFactory.rsa.get()
        let server = try await OneHostServer.start { path, origin in
            switch path {
            case "/realm/.well-known/openid-configuration":
                JSONWriter.compact([
                    "issuer": .string(origin + "/realm"), "jwks_uri": .string(origin + "/realm/keys"),
                ])
            case "/realm/keys": (try? TokenFactory.jwks([TokenFactory.jwk(key, kid: "one")])) ?? []
            default: nil
            }
        }
        let issuer = server.origin + "/realm"
        var entry = IssuerEntry(issuer: issuer)
        entry.audiences = ["demo"]
        let issuers = try await TokenIssuers(Settings().auth, issuers: [entry], downloads: testDownloads)
        let token = try TokenFactory.token(TokenFactory.claims(["iss": .string(issuer)]), key: key)
        #expect(try await issuers.verify(token, nowMs: start).auth.uid == "ann")
        var absent = IssuerEntry(issuer: server.origin + "/nobody")
        absent.audiences = ["demo"]
        let failures = try await TokenIssuers(Settings().auth, issuers: [absent], downloads: testDownloads).loadKeys(
            nowMs: start)
        #expect(failures.count == 1 && failures.first?.error.code == .keySetUnreadable)
        await server.stop()
    }

    @Test(
        "a configuration of another issuer, or one that leads out of https, is not followed",
        arguments: [
            (#"{"issuer":"https://b.example","jwks_uri":"https://a.example/k"}"#, "another issuer"),
            (#"{"issuer":"https://a.example","jwks_uri":"http://a.example/k"}"#, "not https"),
            (#"{"issuer":"https://a.example"}"#, "no jwks_uri"), ("<html>", "not JSON"),
        ])
    func badConfiguration(text: String, reason: String) throws {
        do {
            _ = try KeyDiscovery.keySetAddress(in: Array(text.utf8), issuer: "https://a.example")
            Issue.record("followed")
        } catch {
            #expect("\(error)".contains(reason))
        }
        #expect(KeyDiscovery.address(of: "https://a.example/") == "https://a.example/.well-known/openid-configuration")
    }

    // MARK: API keys

    @Test("keys count by name while they are in the file; without a file no key is requested")
    func apiKeys() throws {
        let keys = APIKeys(isOn: true, isRequired: true)
        let first = String(repeating: "a", count: 20)
        let second = String(repeating: "b", count: 20)
        let hex = Digest(of: Array(second.utf8)).hex
        #expect(keys.set(try APIKeyFile.parse("web-1: \(first)\nweb-2: sha256:\(hex)\n")))
        #expect(try keys.name(of: first) == "web-1" && keys.name(of: second) == "web-2")
        #expect(try keys.name(of: nil) == nil && keys.name(of: "") == nil)
        #expect(throws: RequestError.self) { try keys.name(of: first + "x") }
        #expect(throws: RequestError.self) { try keys.name(of: String(repeating: "a", count: 100_000)) }
        #expect(keys.refusal(of: "web-1") == nil && keys.refusal(of: nil)?.code == .unauthenticated)
        #expect(!keys.set(try APIKeyFile.parse("web-1: \(first)\nweb-2: \(second)\n")), "the same keys")
        #expect(keys.set(try APIKeyFile.parse("web-2: \(second)\n")))
        #expect(throws: RequestError.self) { try keys.name(of: first) }
        #expect(keys.refusal(of: "web-1")?.code == .unauthenticated && keys.refusal(of: "web-2") == nil)
        let off = APIKeys(isOn: false, isRequired: false)
        #expect(try off.name(of: "whatever SDKs of other services send") == nil)
        #expect(off.refusal(of: nil) == nil)
    }
}

/// A self-signed RSA certificate and its key, made with `openssl`.
struct TestCertificate {
    let pem: String
    let key: TokenFactory.Key

    init(days: Int) throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = URL(filePath: temporary.path)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days \(days) -subj /CN=test \
            2>/dev/null
            """,
        ]
        process.currentDirectoryURL = folder
        try process.run()
        process.waitUntilExit()
        pem = try String(contentsOf: folder.appending(path: "cert.pem"), encoding: .utf8)
        let text = try String(contentsOf: folder.appending(path: "key.pem"), encoding: .utf8)
        key = .rsa(try _RSA.Signing.PrivateKey(pemRepresentation: text))
    }
}
