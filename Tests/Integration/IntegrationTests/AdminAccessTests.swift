import Crypto
import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The admin port of nodes that admit users of an OpenID provider: `admin.auth.mode: oidc`.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AdminAccessTests {
    /// An issuer with one P-256 key, whose configuration and key set it serves.
    private enum Issuer {
        static func answer(
            _ key: P256.Signing.PrivateKey, _ path: String, _ origin: String
        ) -> (status: HTTPResponseStatus, body: [UInt8]) {
            let point = Array(key.publicKey.rawRepresentation)
            switch path {
            case "/.well-known/openid-configuration":
                return (.ok, JSONWriter.compact(["issuer": .string(origin), "jwks_uri": .string(origin + "/keys")]))
            case "/keys":
                let jwk: JSONValue = [
                    "kty": "EC", "crv": "P-256", "kid": "one", "alg": "ES256",
                    "x": .string(TestTokens.base64URL(Array(point[..<32]))),
                    "y": .string(TestTokens.base64URL(Array(point[32...]))),
                ]
                return (.ok, JSONWriter.compact(["keys": [jwk]]))
            default: return (.notFound, [])
            }
        }

        /// - Parameter changes: claims that replace those of a good token.
        static func token(
            _ key: P256.Signing.PrivateKey, _ origin: String, _ changes: JSONObject = [:]
        ) throws -> String {
            let nowSeconds = Int64(Date().timeIntervalSince1970)
            var claims: JSONObject = [
                "iss": .string(origin), "aud": "console", "sub": "42", "email": "ann@example.com",
                "email_verified": true, "exp": .int(nowSeconds + 3_600), "groups": ["readers"],
            ]
            for member in changes.entries { claims[member.key] = member.value }
            let header: JSONValue = ["alg": "ES256", "typ": "JWT", "kid": "one"]
            let text = [header, .object(claims)].map { TestTokens.base64URL(JSONWriter.compact($0)) }
                .joined(separator: ".")
            let signature = try key.signature(for: SHA256.hash(data: Array(text.utf8)))
            return text + "." + TestTokens.base64URL(Array(signature.rawRepresentation))
        }
    }

    private struct Answer {
        let status: Int
        let message: String
        let challenge: String?
        let body: JSONValue
    }

    private static func send(
        _ method: HTTPMethod, _ address: ServerAddress, _ path: String, _ token: String?, body: JSONObject? = nil
    ) async throws -> Answer {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        let response = try await HTTPCall.send(
            method, address, path: path, headers: headers, body: body.map { JSONWriter.compact(.object($0)) } ?? [])
        let value = try JSONParser.parse(response.body)
        return Answer(
            status: response.status, message: value["errors"]?[0]?["message"]?.stringValue ?? "",
            challenge: response.headers.first(name: "www-authenticate"), body: value)
    }

    @Test func usersAreAdmittedByRules() async throws {
        let key = P256.Signing.PrivateKey()
        try await LocalHTTPServer.with {
            Issuer.answer(key, $0.path, $1)
        } _: { issuer in
            try await Cluster.with { cluster in
                let settings = [
                    "admin.token=open sesame", "admin.auth.mode=oidc", "admin.auth.issuer=\(issuer.origin)",
                    "admin.auth.audience=console",
                    #"admin.rule=auth.token.email_verified && auth.token.email.endsWith("@example.com")"#,
                    #"admin.writeRule="admins" in request.auth.token.groups"#,
                ]
                let one = try await cluster.start(roles: "api,worker,gateway,admin", settings: settings)
                let two = try await cluster.start(
                    roles: "api,gateway,admin",
                    // A key set that is named needs no configuration of the issuer.
                    settings: settings + ["admin.auth.jwksUrl=\(issuer.origin)/keys"])
                try await reads(try #require(one.admin), issuer, key, [one.process, two.process])
                try await looks(try #require(one.admin), issuer, key, one.process, two.process)
                try await writes(try #require(one.admin), try #require(two.admin), issuer, key, two.process)
                // The audit log names users, not what their clients say.
                let audit = one.process.output
                #expect(audit.contains("user 42 (ann@example.com)") && audit.contains("does not admit this user"))
                #expect(audit.contains("the token has expired"))
            }
        }
    }

    private func reads(
        _ admin: ServerAddress, _ issuer: LocalHTTPServer, _ key: P256.Signing.PrivateKey, _ nodes: [FreshetProcess]
    ) async throws {
        let path = "/admin/v1/status"
        func refused(_ changes: JSONObject, _ status: Int, _ reason: String, _ error: String) async throws {
            let answer = try await Self.send(.GET, admin, path, try Issuer.token(key, issuer.origin, changes))
            #expect(answer.status == status && answer.message.contains(reason), "\(changes): \(answer)")
            #expect(answer.challenge?.contains("error=\"\(error)\"") == true, "\(answer)")
            #expect(answer.challenge?.contains(reason) == true, "\(answer)")
        }
        // The parts of both nodes: they ask each other with the admin token.
        let good = try await Self.send(.GET, admin, path, try Issuer.token(key, issuer.origin))
        #expect(good.status == 200 && good.challenge == nil, "\(good)")
        #expect(good.body["nodes"]?.arrayValue?.count == nodes.count, "\(good)")
        #expect(good.body["unreachable"] == .array([]), "\(good)")
        #expect(try await Self.send(.GET, admin, path, "open sesame").status == 200, "scrapers have the admin token")

        let none = try await Self.send(.GET, admin, path, nil)
        #expect(none.status == 401 && none.challenge == "Bearer realm=\"freshet admin\"", "\(none)")
        let past = Int64(Date().timeIntervalSince1970) - 60
        try await refused(["exp": .int(past)], 401, "the token has expired", "invalid_token")
        try await refused(["aud": "another app"], 401, "another audience", "invalid_token")
        try await refused(["iss": "https://elsewhere.example"], 401, "another issuer", "invalid_token")
        try await refused(["email": "eve@evil.example"], 403, "admin.rule does not admit", "insufficient_scope")
        try await refused(["email_verified": false], 403, "admin.rule does not admit", "insufficient_scope")
        try await refused(["email": .null], 403, "admin.rule does not admit", "insufficient_scope")
        let forged = try await Self.send(.GET, admin, path, try Issuer.token(P256.Signing.PrivateKey(), issuer.origin))
        #expect(forged.status == 401 && forged.message.contains("signature"), "\(forged)")
        #expect(try await Self.send(.GET, admin, path, "nonsense").message.contains("malformed"))
        #expect(try await HTTPCall.send(.GET, admin, path: "/readyz").status == 200, "open as before")
    }

    /// The audit logs of all nodes name the person, once for a look that asks again and again. A stream ends with its
    /// reader's token.
    private func looks(
        _ admin: ServerAddress, _ issuer: LocalHTTPServer, _ key: P256.Signing.PrivateKey, _ process: FreshetProcess,
        _ other: FreshetProcess
    ) async throws {
        let token = try Issuer.token(key, issuer.origin)
        for _ in 0..<3 {
            #expect(try await Self.send(.GET, admin, "/admin/v1/sessions?user=bob", token).status == 200)
        }
        #expect(try await Self.send(.GET, admin, "/admin/v1/revocations", token).status == 200)
        let impersonate: JSONObject = ["impersonate": ["authClaims": ["sub": "bob"]]]
        let path = "/v1/projects/p/locations/us-central1/services/auctions/connectors/auctions:impersonateQuery"
        _ = try await Self.send(
            .POST, admin, path, token, body: ["operationName": "MyAccount", "extensions": .object(impersonate)])
        _ = try await process.line(containing: "administrator operation")
        let lines = process.output.split(separator: "\n")
        let sessions = lines.filter { $0.contains("admin look") && $0.contains("/admin/v1/sessions") }
        #expect(sessions.count == 1 && sessions.allSatisfy { $0.contains("user 42 (ann@") && $0.contains("bob") })
        #expect(lines.contains { $0.contains("admin look") && $0.contains("/admin/v1/revocations") })
        let call = try #require(lines.first { $0.contains("administrator operation") })
        #expect(call.contains("MyAccount") && call.contains("as=bob") || call.contains(#""as":"bob""#), "\(call)")
        _ = try await other.line(containing: "/admin/v1/sessions")
        #expect(
            other.output.split(separator: "\n").contains {
                $0.contains("/admin/v1/sessions") && $0.contains("42 (ann@") && $0.contains("admin token")
            })

        for path in ["/admin/v1/tail", "/admin/v1/sessions?every=500"] {
            let endsAt = Date().timeIntervalSince1970 + 3
            let short = try Issuer.token(key, issuer.origin, ["exp": .int(Int64(endsAt))])
            let stream = LineLog()
            _ = try? await HTTPLines.follow(
                admin, path: path, headers: ["authorization": "Bearer \(short)"]
            ) { stream.append($0) }
            #expect(stream.isOpened && Date().timeIntervalSince1970 >= Double(Int64(endsAt)), "\(path)")
        }
    }

    private func writes(
        _ admin: ServerAddress, _ other: ServerAddress, _ issuer: LocalHTTPServer, _ key: P256.Signing.PrivateKey,
        _ otherProcess: FreshetProcess
    ) async throws {
        let reader = try Issuer.token(key, issuer.origin)
        let operatorToken = try Issuer.token(key, issuer.origin, ["groups": ["readers", "admins"]])
        let service = "/v1/projects/p/locations/us-central1/services/auctions"
        let query: JSONObject = ["query": "query { lots(limit: 1) { id } }"]
        let read = try await Self.send(.POST, admin, service + ":executeGraphqlRead", reader, body: query)
        #expect(read.status == 200, "\(read)")
        // A long question changes nothing, either.
        let long = String(repeating: "x", count: 20_000)
        let why = try await Self.send(
            .POST, admin, "/admin/v1/why", reader,
            body: ["operation": "auctions/ListLots", "variables": ["category": .string(long)]])
        #expect(why.status == 200 && why.body["verdict"]?["code"] == "not_followed", "\(why)")
        // A text that may hold a mutation counts as one.
        let write = try await Self.send(.POST, admin, service + ":executeGraphql", reader, body: query)
        #expect(write.status == 403 && write.message.contains("admin.writeRule"), "\(write)")
        let revoke = "/admin/v1/revocations?uid=bob&forMs=60000"
        #expect(try await Self.send(.POST, admin, revoke, reader).status == 403)
        #expect(try await Self.send(.POST, admin, revoke, operatorToken).status == 200)
        // The console switches off what is refused.
        let console = try await Self.send(.GET, admin, "/admin/v1/console", reader)
        #expect(console.body["refused"]?["/admin/v1/revocations"] == "admin.writeRule does not admit this user")
        #expect(console.body["refused"]?["/admin/v1/sessions/{session}/end"] != nil, "\(console)")
        let all = try await Self.send(.GET, admin, "/admin/v1/console", operatorToken)
        #expect(all.body["refused"] == [:], "\(all)")
        // An action at another node: its audit log has the user's name, too.
        let otherNode = try await Self.send(.GET, other, "/admin/v1/overview", reader).body["node"]?.stringValue
        let node = try #require(otherNode)
        let end = try await Self.send(.POST, admin, "/admin/v1/sessions/999999/end?node=\(node)", operatorToken)
        #expect(end.status == 404 && end.message.contains("no session 999999"), "\(end)")
        _ = try await otherProcess.line(containing: "end session 999999")
        #expect(otherProcess.output.contains("admin token, 127.0.0.1") && otherProcess.output.contains("42 (ann@"))

        let tool = try FreshetProcess([
            "admin", "status", "--json", "--token", reader, "--url", "http://\(admin.host):\(admin.port)",
        ])
        #expect(await tool.waitForExit() == 0, "\(tool.output)")
        let refused = try FreshetProcess([
            "admin", "revoke", "uid", "bob", "--token", reader, "--url", "http://\(admin.host):\(admin.port)",
        ])
        #expect(await refused.waitForExit() != 0)
        #expect(refused.output.contains("admin.writeRule does not admit this user"), "\(refused.output)")
    }

    @Test(
        "a rule that cannot be compiled, and keys that cannot be read, stop the start",
        arguments: [
            ("admin.rule=auth.token.email ==", "admin.rule"),
            ("admin.rule=\"a text\"", "admin.rule"),
            ("admin.rule=auth.name == \"ann\"", "there is no auth.name"),
            ("admin.writeRule=request.body == \"x\"", "there is no request.body"),
            ("admin.auth.jwksFile=/nonexistent", "/nonexistent"),
        ])
    func mistakesStopTheStart(_ setting: String, _ part: String) async throws {
        try await Servers.with { servers in
            let node = try FreshetProcess(
                ["serve", SampleProject.path, "--roles", "admin"]
                    + [
                        "http.port=0", "admin.port=0", "admin.token=t", "admin.auth.mode=oidc",
                        "admin.auth.issuer=https://issuer.invalid", "admin.auth.audience=a", "admin.rule=true", setting,
                    ].flatMap { ["--set", $0] },
                environment: [
                    "FRESHET_POSTGRES_URL": servers.postgres.connectionString, "FRESHET_REDIS_URL": servers.redis.url,
                ])
            #expect(await node.waitForExit() != 0)
            #expect(node.output.contains(part), "\(node.output)")
        }
    }
}
