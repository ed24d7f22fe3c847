import LiveModel
import Sessions
import Testing

@Suite struct EntityTagTests {
    private let digest = SessionFixture.digest(1)
    private let key = LiveQueryKey(digest: SessionFixture.digest(7))

    @Test func textAndValueRoundTrip() {
        for position in [nil, SessionFixture.position(17, epoch: 1732)] {
            let tag = EntityTag(KnownResult(digest: digest, position: position), of: key)
            #expect(EntityTag(ifNoneMatch: tag.description) == tag)
            #expect(EntityTag(ifNoneMatch: tag.weak) == tag && EntityTag.isWeak(ifNoneMatch: tag.weak))
            #expect(!EntityTag.isWeak(ifNoneMatch: tag.description))
            #expect(EntityTag(bare: tag.bare) == tag)
            #expect(tag.description == "\"\(tag.bare)\"")
        }
        let tag = EntityTag(KnownResult(digest: digest, position: SessionFixture.position(17, epoch: 1732)), of: key)
        #expect(tag.bare == "\(digest.hex)@1732.17.17-0@\(key.digest.hex.prefix(16))")
    }

    /// A client that came back as another user kept the former user's result.
    @Test func aPositionCountsForItsOwnLiveQuery() {
        let known = KnownResult(digest: digest, position: SessionFixture.position(17))
        let other = LiveQueryKey(digest: SessionFixture.digest(8))
        #expect(EntityTag(known, of: key).known(of: key) == known)
        #expect(EntityTag(known, of: key).known(of: other) == KnownResult(digest: digest, position: nil))
    }

    @Test func theFirstOwnTagInAListIsUsed() {
        let mine = "\"\(digest.hex)\""
        for header in [
            mine, "W/\(mine)", "  \(mine) ", "\"other\", \(mine)", "\"\",W/ \"x\",\t\(mine)",
            "\(mine), \"\(SessionFixture.digest(2).hex)\"",
        ] {
            #expect(
                EntityTag(ifNoneMatch: header)?.known(of: key) == KnownResult(digest: digest, position: nil),
                "\(header)")
        }
    }

    @Test func everythingElseMatchesNothing() {
        for header in [
            "", "*", digest.hex, "\"\(digest.hex.dropLast())\"", "\"\(digest.hex)@\"", "\"\(digest.hex)@1.2\"",
            "\"\(digest.hex)@1.2.3\"", "\"\(digest.hex)@1.2.3-4\"", "\"\(digest.hex)@1.2.3-4@5\"", "\"", "\"@1.2.3-4\"",
            "\"\(digest.hex)0\"",
        ] {
            #expect(EntityTag(ifNoneMatch: header) == nil, "\(header)")
        }
    }
}

@Suite struct PreferencesTests {
    @Test(
        arguments: [
            ("wait=30", 30_000), ("respond-async, wait=10", 10_000), (" Wait = \"5\" ", 5_000), ("wait=7; foo", 7_000),
            ("wait=100000", 60_000), ("wait=9223372036854775807", 60_000), ("wait=0", nil), ("wait=-1", nil),
            ("wait", nil),
            ("wait=", nil), ("wait=1.5", nil), ("wait=ten", nil), ("", nil), ("waits=5", nil),
            ("wait=x, wait=2", 2_000),
        ] as [(String, Int64?)])
    func preferencesSayHowLongToWait(header: String, expected: Int64?) {
        #expect(Preferences.waitMs(header, maximumMs: 60_000) == expected)
    }

    @Test(
        arguments: [
            ("text/event-stream", true), ("application/json, Text/Event-Stream;q=0.5", true),
            ("text/event-stream; charset=utf-8", true), ("text/event-stream;q=0", false),
            ("text/event-stream ; q=0.0", false), ("text/event-streams", false), ("*/*", false), ("text/*", false),
            ("", false),
        ] as [(String, Bool)])
    func mediaTypesAreFoundInAccept(header: String, expected: Bool) {
        #expect(Preferences.accepts("text/event-stream", in: header) == expected)
    }
}

@Suite struct ServerSentEventTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func fieldsInOrderAndABlankLine() {
        let event = ServerSentEvent.event("next", id: "7", data: Array("{\"a\":1}".utf8))
        #expect(text(event) == "id: 7\nevent: next\ndata: {\"a\":1}\n\n")
        #expect(text(ServerSentEvent.event("error", id: nil, data: [])) == "event: error\ndata: \n\n")
    }

    @Test func lineBreaksInTheDataDoNotBreakTheFrame() {
        let event = ServerSentEvent.event("next", id: nil, data: Array("a\n\nb".utf8))
        #expect(text(event) == "event: next\ndata: a\ndata: \ndata: b\n\n")
    }

    @Test func theKeepAliveIsAComment() {
        #expect(text(ServerSentEvent.keepAlive) == ":\n\n")
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("json-patch", false), ("json-patch, gzip", true),
            ("GZIP ;q=0.5, json-patch", true),
            ("gzipped", false),
        ] as [(String?, Bool)])
    func patchesMayBeCompressedOnRequest(_ header: String?, _ accepts: Bool) {
        #expect(Preferences.acceptsCompressedDelta(header) == accepts)
    }
}
