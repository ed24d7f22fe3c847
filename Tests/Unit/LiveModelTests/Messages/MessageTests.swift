import JSON
import LiveModel
import Testing

@Suite struct MutationEventTests {
    private static let event = MutationEvent(
        id: "id", operation: ModelFixture.operation, variables: ["a": [1, 2.5, .null], "ü": "\u{1F600}"],
        auth: ["uid": "u"], keysWritten: [EntityKey(table: "novel", values: ["1", 2])], traceID: "t", committedAtMs: 9)

    @Test func mutationEventsSurviveARoundTrip() throws {
        #expect(try MutationEvent(encoded: Self.event.encoded) == Self.event)
        var signedOut = Self.event
        signedOut.auth = .null
        signedOut.keysWritten = []
        #expect(try MutationEvent(encoded: signedOut.encoded) == signedOut)
    }

    private static let parts: [([[String]], String)] = [
        ([], "[]"), ([["uid"]], #"["uid"]"#), ([["token"]], #"["token"]"#), ([[]], #"["uid","token"]"#),
        ([["token", "org"], ["token", "a.b"], ["uid"]], #"["uid","token.a.b","token.org"]"#),
        ([["other"]], #"["auth"]"#), ([["token", ""]], #"["token."]"#),
    ]

    @Test(arguments: parts)
    func eventsTellWhichPartsOfAuthTheyHold(_ paths: [[String]], text: String) throws {
        var event = Self.event
        var parts = AuthReads.nothing
        for path in paths { parts.add(path: path) }
        event.authParts = parts
        #expect(String(decoding: event.encoded, as: UTF8.self).contains(#","authParts":\#(text),"#))
        #expect(try MutationEvent(encoded: event.encoded) == event)
    }

    @Test func eventsOfOtherVersionsAreRead() throws {
        #expect(!String(decoding: Self.event.encoded, as: UTF8.self).contains("authParts"))
        guard case .object(var object) = try JSONValue(parsing: Self.event.encoded) else { return #expect(Bool(false)) }
        object["later"] = ["x": 1]
        #expect(try MutationEvent(encoded: JSONValue.object(object).compactBytes) == Self.event)
        object["authParts"] = ["tenant"]
        let parts = try MutationEvent(encoded: JSONValue.object(object).compactBytes).authParts
        #expect(parts?.presence == true && parts?.includes(path: ["uid"]) == false)
        for malformed in [JSONValue.bool(true), [1]] {
            object["authParts"] = malformed
            #expect(throws: MessageError(field: "authParts")) {
                try MutationEvent(encoded: JSONValue.object(object).compactBytes)
            }
        }
    }

    @Test func eventsThatDifferInOneFieldAreDecodedApart() throws {
        var decoder = EventDecoder()
        var later = Self.event
        // Everything up to here is the same.
        later.committedAtMs += 1
        for _ in 0..<2 {
            #expect(decoder.event(Self.event.encoded) == Self.event)
            #expect(decoder.event(later.encoded) == later)
            #expect(decoder.event(Array("{}".utf8)) == nil)
        }
    }

    @Test func equalRowsHaveEqualKeys() {
        #expect(
            EntityKey(table: "t", values: [["b": 1, "a": 2]]) == EntityKey(table: "t", values: [["a": 2, "b": 1]]))
        #expect(EntityKey(table: "t", values: ["1"]) != EntityKey(table: "t", values: [1]))
        #expect(EntityKey(table: "t", values: ["a", "b"]) != EntityKey(table: "t", values: ["a,b"]))
    }

    @Test(arguments: ["id", "connector", "operation", "variables", "keys", "trace", "at"])
    func aMissingOrMistypedFieldIsNamed(field: String) throws {
        guard case .object(var object) = try JSONValue(parsing: Self.event.encoded) else { return #expect(Bool(false)) }
        for wrong in [nil, JSONValue.bool(true)] {
            object[field] = wrong
            #expect(throws: MessageError(field: field)) {
                try MutationEvent(encoded: JSONValue.object(object).compactBytes)
            }
        }
    }

    @Test(arguments: ["", "[]", "{", "{}", #"{"id":1}"#])
    func malformedEventsAreRefused(text: String) {
        #expect(throws: MessageError.self) { try MutationEvent(encoded: Array(text.utf8)) }
    }
}

@Suite struct ControlMessageTests {
    static let messages: [ControlMessage] = [
        .announce(gateway: NodeID("g"), query: ModelFixture.query(), known: nil),
        .announce(
            gateway: NodeID("g"), query: ModelFixture.query(auth: .null),
            known: KnownResult(digest: ModelFixture.digest, position: nil)),
        .announce(
            gateway: NodeID("g"), query: ModelFixture.query(auth: ["uid": "u"]),
            known: KnownResult(digest: ModelFixture.digest, position: ModelFixture.position),
            announcement: AnnouncementID(number: 1_732_000_000_000 << 10, requiresFreshRun: true)),
        .announce(
            gateway: NodeID("g"), query: ModelFixture.query(), known: nil,
            announcement: AnnouncementID(number: 1, reportsTimerRuns: true)),
        .announce(
            gateway: NodeID("g"), query: ModelFixture.query(), known: nil,
            announcement: AnnouncementID(number: 2, client: ClientID(number: .max))),
        .announce(
            gateway: NodeID("g"), query: ModelFixture.query(), known: nil,
            announcement: AnnouncementID(number: 3, takesMarkers: false)),
        .withdraw(gateway: NodeID("g"), key: ModelFixture.query().key), .leave(gateway: NodeID("")),
        .summary(gateway: NodeID("g"), count: 3, fingerprint: .max),
        .summary(gateway: NodeID("g"), count: 0, fingerprint: 0, settled: StreamID(ms: 5, sequence: 6)),
    ]

    @Test func clientsAreUsersOrAddressesAndTheSameOnEveryNode() {
        #expect(ClientID(user: "192.0.2.1") != ClientID(address: "192.0.2.1"))
        #expect(ClientID(user: "ann") == ClientID(number: Digest(of: Array("user ann".utf8)).prefix))
    }

    @Test(arguments: messages)
    func controlMessagesSurviveARoundTrip(message: ControlMessage) throws {
        let read = try ControlMessage(fields: message.fields)
        #expect(read == message)
        guard case .announce(_, let query, let known, _) = message,
            case .announce(_, let readQuery, let readKnown, _) = read
        else { return }
        #expect(query.auth == readQuery.auth && query.variables == readQuery.variables && known == readKnown)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"type":"leave"}"#, #"{"type":"other","gateway":"g"}"#,
        #"{"type":"withdraw","gateway":"g","key":"12"}"#, #"{"type":"summary","gateway":"g","count":1}"#,
        #"{"type":"summary","gateway":"g","count":"1","fingerprint":"0"}"#, #"{"type":"announce","gateway":"g"}"#,
    ])
    func malformedControlMessagesAreRefused(text: String) {
        #expect(throws: MessageError.self) { try ControlMessage(fields: [("m", Array(text.utf8))]) }
        #expect(throws: MessageError.self) { try ControlMessage(fields: [("x", Array(text.utf8))]) }
    }
}

@Suite struct InboxMessageTests {
    static let messages: [InboxMessage] = [
        .result(
            shard: ShardID(3), key: ModelFixture.query().key,
            result: LiveResult(
                position: ModelFixture.position, digest: ModelFixture.digest,
                answer: OperationAnswer(body: [0xff, 0, 10]),
                traceID: "t", committedAtMs: 4)
        ),
        .unchangedTick(
            shard: ShardID(3), key: ModelFixture.query().key, digest: ModelFixture.digest,
            position: ModelFixture.position, answers: 4
        ),
        .result(
            shard: ShardID(3), key: ModelFixture.query().key,
            result: LiveResult(
                position: ModelFixture.position, digest: ModelFixture.digest,
                answer: OperationAnswer(
                    body: Array("{}".utf8),
                    errors: [
                        RequestError(.permissionDenied, "no", path: [.key("a"), .index(1)]),
                        RequestError(.constraintViolation, "so"),
                    ], entities: Array("[]".utf8)))),
        .unchanged(
            shard: ShardID(3), key: ModelFixture.query().key, digest: ModelFixture.digest,
            position: ModelFixture.position,
            epoch: 1_732_000_000_009, answers: 1_732_000_000_000 << 10),
        .failed(
            shard: ShardID(3), key: ModelFixture.query().key, position: ModelFixture.position,
            error: RequestError(.timeout, "slow", path: [.key("novels")])),
        .announceAll(shard: ShardID(3), epoch: .max),
        .settled(
            shard: ShardID(3), epoch: .max, through: StreamID(ms: 5, sequence: 6), except: [ModelFixture.query().key],
            held: HeldFingerprint(value: .max)),
        .marker(
            shard: ShardID(3), epoch: .max,
            LagMarker(
                dueMs: 10, committedAtMs: 11, entry: StreamID(ms: 12, sequence: 7), readAtMs: 13, passedAtMs: 14)),
        .ticket(shard: ShardID(3), epoch: .max, number: .max),
    ]

    @Test(arguments: messages)
    func inboxMessagesSurviveARoundTrip(message: InboxMessage) throws {
        #expect(try read(message.fields) == [message])
    }

    private func read(_ fields: [(String, [UInt8])]) throws -> [InboxMessage] {
        try InboxMessage.all(in: fields.map { (name: $0.0, value: $0.1) })
    }

    @Test func messagesOfOneEntryKeepTheirOrder() throws {
        let sent = Self.messages + Self.messages.reversed()
        #expect(try read(InboxMessage.fields(of: sent)) == sent)
    }

    @Test func anEntryIsReadWholeOrNotAtAll() throws {
        let broken = InboxMessage.fields(of: [Self.messages[0]]) + [("m", Array("{}".utf8))]
        #expect(throws: MessageError.self) { try read(broken) }
        #expect(throws: MessageError.self, "no message comes first") {
            try read([("b", [1])] + InboxMessage.fields(of: Self.messages))
        }
        #expect(throws: MessageError.self) { try read([]) }
    }

    @Test func aResultsBodyIsNotTakenFromTheNextMessage() throws {
        let first = Self.messages[0].fields.filter { $0.0 != "b" }
        #expect(throws: MessageError(field: "b")) { try read(first + Self.messages[0].fields) }
    }

    @Test func anUnknownErrorCodeIsInternal() throws {
        let position = ModelFixture.position
        let text =
            #"""
            {"type":"failed","shard":0,"key":"\#(ModelFixture.digest.hex)","position":"\#(position)","code":"NEW",\#
            "message":"m","answers":0}
            """#
        let message = try read([("m", Array(text.utf8))])[0]
        guard case .failed(_, _, _, let error, _) = message else { return #expect(Bool(false)) }
        #expect(error.code == .internalError && error.message == "m")
    }

    @Test(arguments: [
        "", "{}", #"{"shard":0}"#, #"{"shard":0,"type":"announceAll","epoch":1}"#, #"{"shard":0,"type":"x","key":""}"#,
        #"{"shard":0,"type":"settled","epoch":"1","through":"1","except":[],"held":"0"}"#,
        #"{"shard":0,"type":"settled","epoch":"1","through":"1-1","except":["0"],"held":"0"}"#,
        #"{"shard":0,"type":"settled","epoch":"1","through":"1-1","except":[],"held":"x"}"#,
    ])
    func malformedInboxMessagesAreRefused(text: String) {
        #expect(throws: MessageError.self) { try read([("m", Array(text.utf8))]) }
    }

    @Test func aResultWithoutItsBodyIsRefused() {
        #expect(throws: MessageError(field: "b")) { try read([Self.messages[0].fields[0]]) }
    }
}
