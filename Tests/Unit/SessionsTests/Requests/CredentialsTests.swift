import JSON
import LiveModel
import Sessions
import Testing

/// Tokens and API keys are found where each protocol carries them.
@Suite struct CredentialsTests {
    private static let payloads: [(JSONObject, Credentials)] = [
        (["Authorization": "Bearer t"], .bearer("t")),
        (["authToken": "t"], .bearer("t")), (["headers": ["X-Api-Key": "k"]], .apiKey("k")),
        (["x-api-key": "k", "headers": ["Authorization": "t"]], Credentials(bearer: "t", apiKey: "k")),
        (["apiKey": "k"], .apiKey("k")), (["x-goog-api-key": "k"], .apiKey("k")), (["key": "k"], .none),
        (["x-api-key": ""], .none), (["x-api-key": 3], .none),
        (["headers": ["headers": ["x-api-key": "k"]]], .none),
    ]

    @Test(arguments: payloads) func credentialsAreFoundInPayloads(payload: JSONObject, expected: Credentials) {
        #expect(Credentials(payload: payload) == expected)
    }

    @Test func credentialsAreFoundInHeadersAndQueries() {
        func read(_ headers: [String: String], _ query: [String: String] = [:]) -> Credentials {
            Credentials(header: { headers[$0] }, query: { query[$0] })
        }
        #expect(read(["authorization": "Bearer t", "x-api-key": "k"]) == Credentials(bearer: "t", apiKey: "k"))
        #expect(read(["authorization": "Firebase t"]) == .bearer("t"))
        #expect(read(["x-firebase-auth-token": "f", "authorization": "Bearer t"]) == .bearer("f"))
        #expect(read(["x-goog-api-key": "g"], ["key": "q"]) == .apiKey("g"))
        #expect(read([:], ["key": "q"]) == .apiKey("q") && read([:], ["key": ""]) == .none)
        #expect(read(["authorization": "Basic x"]) == .none)
    }

    @Test func aPayloadGoesBeforeTheUpgrade() {
        let opening = Credentials(bearer: "u", apiKey: "k")
        #expect(Credentials.bearer("p").completed(by: opening) == Credentials(bearer: "p", apiKey: "k"))
        #expect(Credentials.none.completed(by: opening) == opening)
    }

    @Test func aSQLConnectStreamVerifiesAKeyInAnyMessageOnce() {
        let service = ServiceIdentity(service: "s", location: "l", connectors: ["c"])
        var machine = ConnectorStreamMachine<StreamJSON>(
            SessionOpening(credentials: .apiKey("a"), operationsMax: 10), service: service)
        func receive(_ headers: String) -> [SessionAction] {
            machine.received(
                text: Array(
                    """
                    {"requestId":"1","name":"projects/p/locations/l/services/s/connectors/c","headers":{\(headers)},
                    "execute":{"operationName":"Q"}}
                    """.utf8))
        }
        #expect(machine.opened() == [.authenticate(.apiKey("a"))])
        _ = machine.authenticated()
        #expect(!receive(#""x-api-key":"a""#).contains { if case .authenticate = $0 { true } else { false } })
        #expect(receive(#""X-Api-Key":"b""#) == [.authenticate(.apiKey("b"))])
        _ = machine.rejected(RequestError(.unauthenticated, "no"))
        #expect(
            receive(#""x-firebase-auth-token":"t""#) == [.authenticate(Credentials(bearer: "t", apiKey: "b"))])
    }
}
