import JSON
import LiveModel
import Testing

@testable internal import Tokens

@Suite("Verifying tokens")
struct TokenVerifierTests {
    private let rsa: TokenFactory.Key
    private let otherRSA: TokenFactory.Key
    private let stub: StubSource
    private let verifier: TokenVerifier

    init() async throws {
        rsa = try TokenFactory.rsa.get()
        otherRSA = try TokenFactory.otherRSA.get()
        stub = StubSource(
            TokenFactory.jwks([
                try TokenFactory.jwk(rsa, kid: "one", ["alg": "RS256", "use": "sig"]),
                try TokenFactory.jwk(TokenFactory.ec, kid: "two"),
            ]))
        verifier = try await TokenVerifier(.firebase(projectId: "demo", source: stub.source))
    }

    private func message(_ token: String, nowMs: Int64 = TokenFactory.nowMs) async -> String? {
        let error = await refusal(verifier, token, nowMs: nowMs)
        if let error { #expect(error.code == .unauthenticated) }
        return error?.message
    }

    @Test("a good token gives uid, all claims and its end")
    func good() async throws {
        let claims = TokenFactory.claims(["firebase": ["sign_in_provider": "google.com"]])
        let verified = try await verifier.verify(
            TokenFactory.token(claims, key: rsa), nowMs: TokenFactory.nowMs)
        #expect(verified.auth == Auth(uid: "ann", token: claims))
        #expect(verified.expiresAtMs == TokenFactory.nowMs + 3_600_000)
    }

    @Test("ES256 works beside RS256")
    func es256() async throws {
        let token = try TokenFactory.token(alg: "ES256", kid: "two", key: TokenFactory.ec)
        #expect(try await verifier.verify(token, nowMs: TokenFactory.nowMs).auth.uid == "ann")
    }

    @Test("a token without a kid is tried with every key of the algorithm")
    func noKeyID() async throws {
        #expect(await message(try TokenFactory.token(kid: nil, key: rsa)) == nil)
        #expect(await message(try TokenFactory.token(alg: "ES256", kid: nil, key: TokenFactory.ec)) == nil)
        #expect(
            await message(try TokenFactory.token(kid: nil, key: otherRSA)) == "the token's signature is invalid")
    }

    @Test("user_id goes before sub; without either there is no user")
    func uid() async throws {
        let sub = try TokenFactory.token(TokenFactory.claims(["user_id": nil, "sub": "bob"]), key: rsa)
        #expect(try await verifier.verify(sub, nowMs: TokenFactory.nowMs).auth.uid == "bob")
        let both = try TokenFactory.token(TokenFactory.claims(["user_id": "eve", "sub": "bob"]), key: rsa)
        #expect(try await verifier.verify(both, nowMs: TokenFactory.nowMs).auth.uid == "eve")
        for changes: JSONObject in [
            ["user_id": nil, "sub": nil], ["user_id": "", "sub": "x"], ["user_id": nil, "sub": 7],
            ["user_id": .string(String(repeating: "u", count: 300))],
        ] {
            let token = try TokenFactory.token(TokenFactory.claims(changes), key: rsa)
            #expect(await message(token) == "the token is malformed: it names no user (user_id or sub)")
        }
    }

    @Test("expiry, to the millisecond, with leeway, also of a remembered token")
    func expiry() async throws {
        let token = try TokenFactory.token(key: rsa)
        let end = TokenFactory.nowMs + 3_600_000 + 5000
        #expect(await message(token, nowMs: end - 1) == nil)
        #expect(await message(token, nowMs: end) == "the token has expired")
        let fresh = try await TokenVerifier(.firebase(projectId: "demo", source: stub.source))
        #expect(await refusal(fresh, token, nowMs: end)?.message == "the token has expired")
    }

    @Test("nbf, with leeway")
    func notBefore() async throws {
        let token = try TokenFactory.token(
            TokenFactory.claims(["nbf": .double(Double(TokenFactory.nowMs) / 1000 + 5.5)]), key: rsa)
        #expect(await message(token) == "the token is not valid yet")
        #expect(await message(token, nowMs: TokenFactory.nowMs + 500) == nil)
    }

    @Test("exp and nbf must be numbers; Firebase needs exp")
    func times() async throws {
        let text = try TokenFactory.token(TokenFactory.claims(["exp": "soon"]), key: rsa)
        #expect(await message(text) == "the token is malformed: its exp claim is not a number")
        let none = try TokenFactory.token(TokenFactory.claims(["exp": nil]), key: rsa)
        #expect(await message(none) == "the token is malformed: it has no exp claim")
        let far = try TokenFactory.token(TokenFactory.claims(["exp": 1e300]), key: rsa)
        #expect(await message(far) == "the token is malformed: its exp claim is not a valid time")
        let past = try TokenFactory.token(TokenFactory.claims(["exp": -1e300]), key: rsa)
        #expect(await message(past) == "the token has expired")
    }

    @Test("tokens for another audience or from another issuer are refused")
    func audience() async throws {
        func message(_ changes: JSONObject) async throws -> String? {
            await self.message(try TokenFactory.token(TokenFactory.claims(changes), key: rsa))
        }
        #expect(try await message(["aud": ["x", "demo"]]) == nil)
        for audience: JSONValue in ["other", ["x"], [], nil, 1] {
            #expect(try await message(["aud": audience]) == "the token is for another audience")
        }
        for issuer: JSONValue in ["https://securetoken.google.com/other", nil, ["https://securetoken.google.com/demo"]]
        {
            #expect(try await message(["iss": issuer]) == "the token is from another issuer")
        }
    }

    @Test("a wrong signature: of another key, of other content, cut, or empty")
    func badSignature() async throws {
        let wrong = "the token's signature is invalid"
        #expect(await message(try TokenFactory.token(key: otherRSA)) == wrong)
        let good = try TokenFactory.token(key: rsa)
        let evil = try TokenFactory.token(TokenFactory.claims(["user_id": "root"]), key: rsa)
        let parts = good.split(separator: ".")
        #expect(await message("\(parts[0]).\(evil.split(separator: ".")[1]).\(parts[2])") == wrong)
        // 255 whole bytes of 256; a cut within a byte may leave stray bits, which are refused before.
        let cut = await message("\(parts[0]).\(parts[1]).\(parts[2].prefix(340))")
        #expect(cut == wrong)
        #expect(await message("\(parts[0]).\(parts[1]).") == wrong)
        let ec = try TokenFactory.token(alg: "ES256", kid: "two", key: TokenFactory.ec).split(separator: ".")
        #expect(await message("\(ec[0]).\(ec[1]).AAAA") == wrong)
    }

    @Test("the key decides the algorithm, not the token")
    func confusion() async throws {
        let wrong = "the token's algorithm does not match its key"
        // The classic: HS256 with the public key as the secret.
        let publicKey = try TokenFactory.jwk(rsa, kid: nil)["n"]?.stringValue ?? ""
        let forged = try TokenFactory.token(alg: "HS256", key: .secret(Array(publicKey.utf8)))
        #expect(await message(forged) == wrong)
        #expect(await message(try TokenFactory.token(alg: "ES256", kid: "one", key: TokenFactory.ec)) == wrong)
        #expect(await message(try TokenFactory.token(alg: "RS256", kid: "two", key: rsa)) == wrong)
        for name in ["RS512", "PS256", "EdDSA", "rs256", "NONE", ""] {
            #expect(await message(try TokenFactory.token(alg: name, key: rsa)) == wrong)
        }
    }

    @Test("an unsigned token is refused, with or without a signature")
    func unsigned() async throws {
        #expect(await message(try TokenFactory.token(alg: "none", key: nil)) == "the token is not signed")
        #expect(await message(try TokenFactory.token(alg: "none", key: rsa)) == "the token is not signed")
    }

    @Test("unsigned tokens are taken where they are allowed, and must still be right")
    func unsignedAllowed() async throws {
        var policy = TokenPolicy.firebase(projectId: "demo", source: stub.source)
        policy.unsignedAllowed = true
        let lenient = try await TokenVerifier(policy)
        let token = try TokenFactory.token(alg: "none", kid: nil, key: nil)
        #expect(try lenient.verifyNow(token, nowMs: TokenFactory.nowMs)?.auth.uid == "ann")
        #expect(await refusal(lenient, token, nowMs: .max / 2)?.message == "the token has expired")
        let signed = try TokenFactory.token(alg: "none", kid: nil, key: rsa)
        #expect(
            await refusal(lenient, signed)?.message == "the token is malformed: its alg is none but it has a signature"
        )
        let foreign = try TokenFactory.token(TokenFactory.claims(["aud": "x"]), alg: "none", kid: nil, key: nil)
        #expect(await refusal(lenient, foreign)?.message == "the token is for another audience")
        #expect(
            await refusal(lenient, try TokenFactory.token(key: otherRSA))?.message
                == "the token's signature is invalid")
    }

    @Test("a malformed token is refused with the reason")
    func malformed() async throws {
        func reason(_ token: String) async -> String? {
            await message(token).map { String($0.dropFirst("the token is malformed: ".count)) }
        }
        #expect(await reason("") == "it does not have three parts")
        #expect(await reason("a.b") == "it does not have three parts")
        #expect(await reason("a.b.c.d") == "it does not have three parts")
        #expect(await reason("a.b.c.d.e") == "it does not have three parts")
        #expect(await reason("!!.e30.") == "its header is not base64url")
        #expect(await reason("e30=.e30.") == "its header is not base64url")
        #expect(await reason("W10.e30.") == "its header is not a JSON object")
        #expect(await reason("e30.bnVsbA.") == "its payload is not a JSON object")
        #expect(await reason("e30.e30.") == "its header has no alg")
        #expect(await reason("e30.e30.A") == "its signature is not base64url")
        #expect(
            await reason(try TokenFactory.token(header: ["crit": ["b64"]], key: rsa))
                == "its header has an unsupported critical extension")
        #expect(
            await reason(try TokenFactory.token(header: ["kid": 7], key: rsa))
                == "its kid is not a string of at most 256 bytes")
        let long = String(repeating: "k", count: 300)
        #expect(
            await reason(try TokenFactory.token(kid: long, key: rsa)) == "its kid is not a string of at most 256 bytes"
        )
        var deep: JSONValue = 1
        for _ in 0..<40 { deep = [deep] }
        #expect(
            await reason(try TokenFactory.token(TokenFactory.claims(["deep": deep]), key: rsa))
                == "its payload is not a JSON object")
    }

    @Test("a token past the size limit is refused unread")
    func tooLarge() async throws {
        let text = String(repeating: "x", count: 20_000)
        let token = try TokenFactory.token(TokenFactory.claims(["text": .string(text)]), key: rsa)
        #expect(await message(token) == "the token is longer than 16384 bytes")
    }

    @Test("HS256 with a shared secret")
    func hs256() async throws {
        guard case .secret(let secret) = TokenFactory.secret else {
            Issue.record("the factory has no secret")
            return
        }
        var policy = TokenPolicy(trust: .secret(secret))
        policy.issuer = nil
        let verifier = try await TokenVerifier(policy)
        let good = try TokenFactory.token(
            TokenFactory.claims(["exp": nil]), alg: "HS256", kid: nil, key: TokenFactory.secret)
        let verified = try verifier.verifyNow(good, nowMs: TokenFactory.nowMs)
        #expect(verified?.auth.uid == "ann" && verified?.expiresAtMs == nil)
        let named = try TokenFactory.token(alg: "HS256", kid: "whatever", key: TokenFactory.secret)
        #expect(await refusal(verifier, named) == nil)
        let forged = try TokenFactory.token(alg: "HS256", kid: nil, key: .secret(Array("guess".utf8)))
        #expect(await refusal(verifier, forged)?.message == "the token's signature is invalid")
        let other = try TokenFactory.token(alg: "RS256", kid: nil, key: rsa)
        #expect(
            await refusal(verifier, other)?.message == "the token's algorithm does not match its key")
    }

    @Test("a short secret is refused at start")
    func shortSecret() async {
        let error = await #expect(throws: TokenSetupError.self) {
            try await TokenVerifier(TokenPolicy(trust: .secret(Array("short".utf8))))
        }
        #expect(error?.code == .secretTooShort)
    }

    @Test("every signed token is refused without a trusted issuer")
    func nobody() async throws {
        let verifier = try await TokenVerifier(TokenPolicy(trust: .nothing))
        #expect(
            await refusal(verifier, try TokenFactory.token(key: rsa))?.message
                == "this server accepts no signed tokens")
    }

    @Test("no message repeats what the token says")
    func noEcho() async throws {
        for changes: JSONObject in [
            ["aud": "SECRET"], ["iss": "SECRET"], ["exp": "SECRET"], ["user_id": nil, "sub": nil],
        ] {
            let message = await message(try TokenFactory.token(TokenFactory.claims(changes), key: rsa))
            #expect(message?.contains("SECRET") == false)
        }
    }
}
