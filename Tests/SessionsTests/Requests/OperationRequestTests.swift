import JSON
import LiveModel
import Sessions
import Testing

@Suite struct OperationRequestTests {
    @Test func allParametersAreRead() throws {
        let known = KnownResult(digest: Fixture.digest(1), position: Fixture.position(3))
        let request = try OperationRequest(graphQL: [
            "query": "query A { a }", "operationName": "A", "variables": ["x": 1], "unknown": true,
            "extensions": [
                "connector": "movies", "resume": .string(EntityTag(known).bare), "clientLibrary": ["name": "x"],
            ],
        ])
        #expect(
            request
                == OperationRequest(
                    connector: "movies", operationName: "A", document: "query A { a }", variables: ["x": 1],
                    known: known))
    }

    @Test func nullAndEmptyCountAsAbsent() throws {
        let request = try OperationRequest(graphQL: [
            "query": "", "operationName": .null, "variables": .null, "extensions": .null,
        ])
        #expect(request == OperationRequest(operationName: nil))
    }

    @Test(arguments: ["query", "operationName", "variables", "extensions"])
    func aFieldOfTheWrongTypeIsNamed(field: String) {
        do {
            _ = try OperationRequest(graphQL: JSONObject([(field, JSONValue.int(1))]))
            Issue.record("accepted")
        } catch {
            #expect(error.code == .badRequest && error.message.contains(field))
        }
    }
}
