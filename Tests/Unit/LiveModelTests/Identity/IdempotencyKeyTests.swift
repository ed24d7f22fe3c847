import JSON
import LiveModel
import Testing

@Suite struct IdempotencyKeyTests {
    @Test(arguments: [
        ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        (#""8e03978e""#, "8e03978e"), (#""8e03978e";v=1"#, "8e03978e"), (#""8e03978e"  ;v=1"#, "8e03978e"),
        (#""a\"b\\c""#, #"a"b\c"#), ("order 7", "order 7"), (#"a"b"#, #"a"b"#),
    ])
    func headersAreStringsOrBareKeys(header: String, key: String) throws {
        #expect(try IdempotencyKey(header: header).text == key)
    }

    @Test(arguments: [
        "", #""""#, #""open"#, #""a"b"#, #""a\n""#, #""a\"#, "tab\tbed", "schlüssel", #""schlüssel""#,
        String(repeating: "k", count: 256),
    ])
    func otherHeadersAreRefused(header: String) {
        let error = #expect(throws: RequestError.self) { try IdempotencyKey(header: header) }
        #expect(error?.code == .badRequest)
    }

    @Test func theLongestKeyIsTaken() throws {
        let text = String(repeating: "k", count: IdempotencyKey.bytesMax)
        #expect(try IdempotencyKey(text).text == text)
        #expect(try IdempotencyKey(header: "\"\(text)\"").text == text)
    }
}

@Suite struct IdempotencyClaimTests {
    private static let operation = OperationReference(connector: "shop", operation: "Buy")
    private static let ann = Auth(uid: "ann", token: ["iss": "one"])

    private func claim(
        _ key: String = "0123456789012345678901", of operation: OperationReference = operation,
        _ variables: JSONObject = ["a": 1, "b": 2], _ auth: Auth? = ann
    ) throws -> IdempotencyClaim {
        try IdempotencyClaim(IdempotencyKey(key), of: operation, variables: variables, auth: auth)
    }

    /// Retries name one event, in the form of RFC 9562 section 5.8.
    @Test func theEventOfAClaimHasOneId() throws {
        let id = try claim().eventID
        #expect(try claim(["a": 1, "b": 3]).eventID == id && claim(auth: nil).eventID != id)
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        #expect(id.wholeMatch(of: form) != nil, "\(id)")
        #expect(try !claim().id.hex.hasPrefix(id.prefix(8)), "the claim itself is not shown")
    }

    /// Claims with another id have nothing to do with each other; with another request they are a conflict.
    @Test func whoseKeyItIsAndWhatItWasSentWith() throws {
        let first = try claim()
        #expect(try claim(["b": 2, "a": 1]) == first)
        // The token's other claims, such as its expiry, change with each token.
        #expect(try claim(auth: Auth(uid: "ann", token: ["iss": "one", "exp": 7])) == first)
        for other in [
            try claim("0123456789012345678902"), try claim(of: OperationReference(connector: "b", operation: "Buy")),
            try claim(auth: Auth(uid: "bob", token: ["iss": "one"])), try claim(auth: nil),
            try claim(auth: Auth(uid: "ann", token: ["iss": "two"])), try claim(auth: Auth(uid: "ann", token: [:])),
        ] {
            #expect(other.id != first.id && other.lockNumber != first.lockNumber)
        }
        for other in [
            try claim(["a": 1, "b": 3]), try claim(["a": 1]),
            try claim(of: OperationReference(connector: "shop", operation: "Sell")),
        ] {
            #expect(other.id == first.id && other.request != first.request)
        }
    }

    @Test func signedOutCallersNeedLongKeys() throws {
        #expect(try claim("0123456789012345678901", auth: nil).id != claim("0", auth: Self.ann).id)
        let error = #expect(throws: RequestError.self) { try claim("012345678901234567890", auth: nil) }
        #expect(error?.code == .badRequest && error?.message.contains("at least 22") == true)
    }

    @Test func resolversGetTheSameKeyForEachRetryOfAField() throws {
        let first = try claim()
        #expect(try first.resolverKey("a") == claim().resolverKey("a"))
        #expect(first.resolverKey("a") != first.resolverKey("b"))
        #expect(try first.resolverKey("a") != claim(auth: nil).resolverKey("a"))
        #expect(try IdempotencyKey(first.resolverKey("a")).text.utf8.count == 64)
    }

    private func claim(_ variables: JSONObject) throws -> IdempotencyClaim {
        try claim("0123456789012345678901", variables)
    }

    private func claim(_ key: String = "0123456789012345678901", auth: Auth?) throws -> IdempotencyClaim {
        try claim(key, ["a": 1, "b": 2], auth)
    }
}
