import JSON
import LiveModel
import Sessions
import Testing

@Suite struct OperationRequestTests {
    @Test func allParametersAreRead() throws {
        let known = KnownResult(digest: SessionFixture.digest(1), position: SessionFixture.position(3))
        let tag = EntityTag(known, of: LiveQueryKey(digest: SessionFixture.digest(2)))
        let request = try OperationRequest(graphQL: [
            "query": "query A { a }", "operationName": "A", "variables": ["x": 1], "unknown": true,
            "extensions": [
                "connector": "auctions", "resume": .string(tag.bare), "clientLibrary": ["name": "x"],
            ],
        ])
        #expect(
            request
                == OperationRequest(
                    connector: "auctions", operationName: "A", document: "query A { a }", variables: ["x": 1],
                    resume: tag))
    }

    @Test func resumeTagsAreSentOnRequest() throws {
        for (value, wanted) in [(JSONValue.bool(true), true), (.bool(false), false), ("true", false), (.null, false)] {
            #expect(try OperationRequest(graphQL: ["extensions": ["resumeTags": value]]).wantsTags == wanted)
        }
    }

    @Test func theIdempotencyKeyIsInExtensionsOrTheHeader() throws {
        var request = try OperationRequest(graphQL: ["extensions": ["idempotencyKey": "one"]])
        #expect(request.idempotencyKey?.text == "one")
        try request.take(idempotencyKeyHeader: nil)
        try request.take(idempotencyKeyHeader: "\"one\"")
        #expect(request.idempotencyKey?.text == "one")
        let error = #expect(throws: RequestError.self) { try request.take(idempotencyKeyHeader: "two") }
        #expect(error?.code == .badRequest)
        var other = try OperationRequest(graphQL: ["extensions": ["idempotencyKey": .null]])
        #expect(other.idempotencyKey == nil)
        try other.take(idempotencyKeyHeader: "two")
        #expect(other.idempotencyKey?.text == "two")
    }

    @Test(arguments: [JSONValue.int(1), "", "schlüssel"]) func otherIdempotencyKeysAreRefused(key: JSONValue) {
        let error = #expect(throws: RequestError.self) {
            try OperationRequest(graphQL: ["extensions": ["idempotencyKey": key]])
        }
        #expect(error?.code == .badRequest)
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

/// Stored texts by their digest. Source: GraphQL over HTTP, appendix on persisted documents, with its example.
@Suite struct DocumentIDTests {
    private static let hash = "71f7dc5758652baac68e4a10c50be732b741c892ade2883a99358f52b555286b"

    @Test func theDigestIsOfTheExactText() throws {
        let digest = Digest(of: "query($id:ID!){user(id:$id){name}}".utf8)
        #expect(digest.hex == Self.hash)
        for text in ["sha256:" + Self.hash, Self.hash] {
            let request = try OperationRequest(graphQL: ["documentId": .string(text)])
            #expect(request.documentID?.digest == digest && request.documentID?.isPersistedQuery == false)
        }
    }

    @Test func apollosPersistedQueriesAreAnsweredInItsWords() throws {
        let request = try OperationRequest(graphQL: [
            "extensions": ["persistedQuery": ["version": 1, "sha256Hash": .string(Self.hash)]]
        ])
        #expect(request.documentID?.unknown.message == "PersistedQueryNotFound")
    }

    @Test(arguments: ["", "sha256:", "md5:0", "sha256:xyz", "x-other:1"])
    func otherIdsAreRefused(text: String) {
        #expect(throws: RequestError.self) { try OperationRequest(graphQL: ["documentId": .string(text)]) }
    }
}
