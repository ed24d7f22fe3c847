import JSON
import LiveModel

enum ModelFixture {
    static let position = Position(epoch: 1_732_000_000_000, run: 17, id: StreamID(ms: 1_732_000_000_123, sequence: 4))
    static let digest = Digest(of: "x".utf8)
    static let operation = OperationReference(connector: "library", operation: "ListNovels")

    static func query(_ variables: JSONObject = ["genre": "Ä\n\"", "n": 1], auth: JSONValue? = nil) -> LiveQuery {
        LiveQuery(operation: operation, version: digest, variables: variables, auth: auth)
    }
}
