import JSON
import LiveModel
import Sessions
import Testing

/// Names, paths and texts of the REST surface. Source: docs/reference/sql-connect.md §1.
@Suite struct ConnectorCallTests {
    private static let path = "/v1/projects/p/locations/us-central1/services/auctions/connectors/default"

    @Test(arguments: [("executeQuery", ConnectorCall.Method.executeQuery), ("executeMutation", .executeMutation)])
    func pathsNameConnectorAndMethod(_ text: String, _ method: ConnectorCall.Method) throws {
        let call = try #require(ConnectorCall(path: Self.path + ":" + text))
        #expect(call.method == method)
        #expect(call.name == ConnectorName(location: "us-central1", service: "auctions", connector: "default"))
    }

    @Test(arguments: [
        path, path + ":", path + ":drop", "/v1/connectors/c/queries/q", "/v2" + path.dropFirst(3) + ":executeQuery",
        "/v1/projects//locations/l/services/s/connectors/c:executeQuery",
        "/v1/projects/p/locations/l/services/s/connectors/c/d:executeQuery",
        "/v1/projects/p/places/l/services/s/connectors/c:executeQuery",
    ])
    func otherPathsAreNoCalls(_ path: String) {
        #expect(ConnectorCall(path: path) == nil)
    }

    @Test func theRefusalOfAWrongNameListsTheRightOnes() {
        let here = ServiceIdentity(service: "auctions", location: "us-central1", connectors: ["a", "b"])
        func refusal(_ location: String, _ service: String, _ connector: String) -> String? {
            here.refusal(of: ConnectorName(location: location, service: service, connector: connector))?.message
        }
        #expect(refusal("us-central1", "auctions", "a") == nil)
        #expect(refusal("us-central1", "sales", "a") == #"there is no service "sales" here, only "auctions""#)
        #expect(
            refusal("eu", "auctions", "a") == #"service "auctions" is in location "us-central1", not in "eu""#)
        #expect(
            refusal("us-central1", "auctions", "c") == #"service "auctions" has no connector "c" (it has "a", "b")"#)
        #expect(here.refusal(location: "us-central1", service: nil) == nil)
    }

    @Test func answersAreWrittenAsSQLConnectDoes() {
        func text(_ answer: OperationAnswer) -> String { String(decoding: answer.sqlConnectObject, as: UTF8.self) }
        let body = Array(#"{"lot":null}"#.utf8)
        #expect(text(OperationAnswer(body: body)) == #"{"data":{"lot":null}}"#)
        #expect(
            text(OperationAnswer(body: body, entities: Array(#"[{"path":["lot"],"entityId":"e"}]"#.utf8)))
                == #"{"data":{"lot":null},"extensions":{"dataConnect":[{"path":["lot"],"entityId":"e"}]}}"#)
        // Message and path are always there.
        #expect(
            text(OperationAnswer(failed: [RequestError(.invalidVariable, "no")]))
                == """
                {"data":null,"errors":[{"message":"no","path":[],\
                "extensions":{"code":"INVALID_ARGUMENT","debugDetails":"INVALID_VARIABLE"}}]}
                """
        )
        let error = RequestError(.permissionDenied, "no", path: [.key("auctions"), .index(1), .key("title")])
        #expect(
            text(OperationAnswer(body: body, errors: [error]))
                == """
                {"data":{"lot":null},"errors":[{"message":"no","path":["auctions",1,"title"],\
                "extensions":{"code":"PERMISSION_DENIED"}}]}
                """
        )
    }

    @Test func failuresHaveTheirGRPCCodes() {
        func text(_ code: ErrorCode) -> String {
            String(decoding: SQLConnectFailure(code, "m").json, as: UTF8.self)
        }
        #expect(text(.unauthenticated) == #"{"code":16,"message":"unauthenticated: m","details":[]}"#)
        #expect(
            text(.permissionDenied)
                == """
                {"code":7,"message":"unauthorized: you are not authorized to perform this operation (m)",\
                "details":[]}
                """
        )
        #expect(text(.operationNotFound) == #"{"code":5,"message":"m","details":[]}"#)
        #expect(text(.unavailable) == #"{"code":14,"message":"m","details":[]}"#)
    }

    @Test func requestsAreReadOrRefused() throws {
        func request(_ text: String) throws -> OperationRequest {
            try OperationRequest(
                sqlConnect: try #require(try JSONParser.parse(text).objectValue), of: "c")
        }
        let full = try request(#"{"name":"x","operationName":"A","variables":{"id":"m1"}}"#)
        #expect(full == OperationRequest(connector: "c", operationName: "A", variables: ["id": "m1"]))
        for text in [
            #"{"operationName":"A"}"#, #"{"operationName":"A","variables":{}}"#,
            #"{"operationName":"A","variables":null}"#,
        ] {
            #expect(try request(text) == OperationRequest(connector: "c", operationName: "A"))
        }
        for text in ["{}", #"{"operationName":""}"#, #"{"operationName":1}"#, #"{"operationName":"A","variables":[]}"#]
        {
            #expect(throws: RequestError.self) { try request(text) }
        }
    }
}
