import CEL
import JSON
import LiveModel
import Testing

@Suite struct DigestTests {
    @Test func hexRoundTripsInEitherCase() {
        let digest = Digest(of: "abc".utf8)
        #expect(digest.hex.utf8.count == 64 && digest.description == digest.hex)
        #expect(Digest(hex: digest.hex) == digest)
        #expect(Digest(hex: digest.hex.uppercased()) == digest)
        #expect(Digest(of: "abd".utf8) != digest)
    }

    /// FIPS 180-2, appendix B.1.
    @Test func digestsAreSHA256() {
        #expect(
            Digest(of: "abc".utf8).hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Digest(of: []).prefix == 0xe3b0_c442_98fc_1c14)
    }

    @Test(arguments: [
        "", "ab", String(repeating: "0", count: 63), String(repeating: "0", count: 65),
        String(repeating: "g", count: 64), String(repeating: "ä", count: 32),
    ])
    func otherTextIsNone(text: String) {
        #expect(Digest(hex: text) == nil)
    }

    /// Digits are read eight at a time: each byte there is, at each place.
    @Test func everyByteAtEveryPlace() {
        let digits = Array("0123456789abcdefABCDEF".utf8)
        let plain = Array(Digest(of: "abc".utf8).hex.utf8)
        for place in plain.indices {
            for byte in UInt8.min...UInt8.max {
                var text = plain
                text[place] = byte
                let digest = text.withUnsafeBytes { Digest(hexBytes: $0) }
                guard digits.contains(byte) else {
                    if digest != nil { Issue.record("\(byte) at \(place) is no digit") }
                    continue
                }
                if digest?.hex != String(decoding: text, as: UTF8.self).lowercased() {
                    Issue.record("\(byte) at \(place): \(digest?.hex ?? "none")")
                }
            }
        }
    }
}

@Suite struct AuthReadsTests {
    private let auth = Auth(uid: "u", token: ["org": 1, "email": "e", "role": "r"])

    private func reads(_ paths: [[String]]) -> AuthReads {
        var reads = AuthReads()
        for path in paths { reads.add(path: path) }
        return reads
    }

    @Test func nothingReadIsNothingKept() {
        #expect(AuthReads.nothing.project(auth) == nil)
        #expect(AuthReads.nothing.project(nil) == nil)
    }

    @Test func onlyWhatIsReadIsKept() {
        #expect(reads([["uid"]]).project(auth) == ["uid": "u", "token": [:]])
        #expect(
            reads([["token", "org"], ["token", "absent"], ["token", "org"]]).project(auth) == ["token": ["org": 1]])
        #expect(reads([["other"]]).project(auth) == ["token": [:]])
    }

    @Test func theWholeIsTheWhole() {
        let whole: JSONValue = ["org": 1, "email": "e", "role": "r"]
        #expect(reads([["token"]]).project(auth) == ["token": whole])
        #expect(reads([[]]).project(auth) == ["uid": "u", "token": whole])
        #expect(reads([["token"], ["token", "org"]]).project(auth) == ["token": whole])
    }

    @Test func aPathIsIncludedIfItIsReadWhole() {
        let paths = [
            [], ["uid"], ["token"], ["token", "org"], ["token", "org", "id"], ["token", "email"], ["other"],
        ]
        func included(_ read: [[String]]) -> [[String]] { paths.filter { reads(read).includes(path: $0) } }
        #expect(included([]) == [])
        #expect(included([["uid"]]) == [["uid"], ["other"]])
        #expect(included([["token", "org"]]) == [["token", "org"], ["token", "org", "id"], ["other"]])
        #expect(included([["token"]]) == Array(paths[2...]))
        #expect(included([[]]) == paths)
        #expect(included([["other"]]) == [["other"]])
    }

    @Test func signedOutIsNullAsSoonAsAnythingIsRead() {
        for path in [[], ["uid"], ["token"], ["token", "org"]] { #expect(reads([path]).project(nil) == .null) }
    }

    @Test func theUnionReadsWhatEitherReads() {
        var union = reads([["token", "org"]])
        union.formUnion(reads([["uid"], ["token", "email"], ["token", "org"]]))
        #expect(union == reads([["uid"], ["token", "email"], ["token", "org"]]))
        #expect(union.claims == ["email", "org"])
        union.formUnion(.nothing)
        #expect(union.project(auth) == ["uid": "u", "token": ["email": "e", "org": 1]])
    }
}

@Suite struct LiveQueryTests {
    @Test func theKeyIsOfTheValueNotOfTheText() {
        #expect(ModelFixture.query(["a": 1, "b": 2]).key == ModelFixture.query(["b": 2, "a": 1]).key)
        #expect(ModelFixture.query(["a": 1]) != ModelFixture.query(["a": "1"]))
        #expect(ModelFixture.query(["a": .null]) != ModelFixture.query([:]))
    }

    @Test func everythingThatChangesAResultChangesTheKey() {
        let base = ModelFixture.query()
        let others = [
            LiveQuery(
                operation: OperationReference(connector: "library2", operation: "ListNovels"), version: base.version,
                variables: base.variables, auth: nil),
            LiveQuery(
                operation: OperationReference(connector: "library", operation: "listNovels"), version: base.version,
                variables: base.variables, auth: nil),
            LiveQuery(operation: base.operation, version: Digest(of: [9]), variables: base.variables, auth: nil),
            ModelFixture.query(["n": 2]), ModelFixture.query(auth: .null), ModelFixture.query(auth: ["uid": "u"]),
        ]
        #expect(Set(others + [base]).count == others.count + 1)
    }

    @Test func theClaimsComeBackAsAuth() {
        #expect(ModelFixture.query().projectedAuth == nil)
        #expect(ModelFixture.query(auth: .null).projectedAuth == nil)
        let query = ModelFixture.query(auth: ["uid": "u", "token": ["org": 1]])
        #expect(query.projectedAuth == Auth(uid: "u", token: ["org": 1]))
        #expect(ModelFixture.query(auth: ["token": [:]]).projectedAuth == Auth(uid: "", token: [:]))
    }

    @Test func jsonBecomesCEL() throws {
        let value = Value(json: ["i": 1, "d": 3.0, "s": "x", "l": [.null, true]])
        guard case .map = value else { return #expect(Bool(false)) }
        let activation = ConditionActivation(request: value, mutation: Value(auth: Auth(uid: "u", token: ["a": 1])))
        for text in [
            "type(request.i) == int", "type(request.d) == double", "request.l == [null, true]",
            "mutation.uid == 'u' && mutation.token.a == 1",
        ] {
            let program = try ConditionActivation.environment.compile(text)
            guard case .bool(true) = try program.evaluate(activation) else {
                Issue.record("\(text)")
                continue
            }
        }
        guard case .null = Value(auth: nil) else { return #expect(Bool(false)) }
    }
}

@Suite struct NodeRecordTests {
    @Test func nodeRecordsSurviveARoundTrip() {
        let record = NodeRecordPayload(
            id: NodeID("n"), roles: [.api, .gateway], address: "h:1", adminAddress: "", version: "1", startedAtMs: 5,
            isDraining: true, load: 7, process: ProcessIdentity(machine: "m", processID: 8, startTicks: 9))
        #expect(NodeRecordPayload(payload: record.payload) == record)
        #expect(NodeRecordPayload(payload: Array("{}".utf8)) == nil)
        #expect(NodeRecordPayload(payload: Array("[".utf8)) == nil)
    }

    @Test(arguments: ["null", "[]", #"["m",0,1]"#, #"["m",1,-1]"#, #"["",1,1]"#, #"["m",99999999999,1]"#, "7"])
    func aProcessInAnotherFormIsNone(_ process: String) {
        let text = #"{"id":"n","roles":["worker"],"process":"# + process + "}"
        let record = NodeRecordPayload(payload: Array(text.utf8))
        #expect(record?.id == NodeID("n"))
        #expect(record?.process == nil)
    }

    @Test(arguments: [
        (#""startedAt":9223372036854775807"#, 1), (#""startedAt":1e308,"load":-1"#, 2), (#""deployment":-1"#, 1),
        (#""shards":[7,[1]]"#, 2), (#""process":7"#, 1), (#""startedAt":5,"process":null"#, 0),
    ])
    func valuesThatNoNodeWritesAreCounted(_ members: String, count: Int) {
        var defects = StoredDefects()
        let text = #"{"id":"n","roles":["worker"],"# + members + "}"
        #expect(NodeRecordPayload(payload: Array(text.utf8), defects: &defects)?.id == NodeID("n"))
        #expect(defects.count == count && defects.first.isEmpty == (count == 0))
    }

    @Test func rolesOfLaterVersionsAreLeftOut() {
        let record = NodeRecordPayload(payload: Array(#"{"id":"n","roles":["gateway","archive",7]}"#.utf8))
        #expect(record?.roles == [.gateway])
    }
}
