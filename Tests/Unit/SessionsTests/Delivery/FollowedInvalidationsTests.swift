import JSON
import LiveModel
import Sessions
import Testing

/// Clients that ask for invalidations get those that they do not know, once.
@Suite struct FollowedInvalidationsTests {
    private static func history(
        _ entries: [(String, UInt64)], generation: UInt64, mark: String = "m"
    ) -> Invalidations {
        var fields: [String: (version: UInt64, value: String)] = ["history": (1, mark)]
        for (number, (subject, version)) in entries.enumerated() {
            fields["entry \(number) \(subject)"] = (version, "1")
        }
        return Invalidations(fields: fields, generation: generation)
    }

    private static let history = history([("entity e", 3), ("operation c/Q", 5)], generation: 5)

    @Test(arguments: [
        ("", #"{"position":"5-m","drop":[]}"#), ("none", #"{"position":"5-m","drop":[]}"#),
        ("2-m", #"{"position":"5-m","drop":[{"entity":"e"},{"operation":"c/Q"}]}"#),
        ("4-m", #"{"position":"5-m","drop":[{"operation":"c/Q"}]}"#),
        ("4-other", #"{"position":"5-m","drop":"everything"}"#),
    ])
    func aClientIsToldWhatCameSinceItsPosition(position: String, told: String) {
        var followed = FollowedInvalidations(position)
        #expect(followed.told(of: Self.history)?.description == told)
        #expect(followed.told(of: Self.history) == nil, "once")
        #expect(followed.told(of: Invalidations()) == nil, "nothing is known")
    }

    /// Redis may have lost what came after, and gives the numbers again.
    @Test func aClientThatKnowsMoreGoesBack() {
        var followed = FollowedInvalidations("9-m")
        #expect(followed.told(of: Self.history)?.description == #"{"position":"5-m","drop":[]}"#)
        let next = Self.history([("entity e", 6)], generation: 6)
        #expect(followed.told(of: next)?.description == #"{"position":"6-m","drop":[{"entity":"e"}]}"#)
    }

    /// Headers are short, and have no other characters than ASCII ones.
    @Test func aHeaderThatWouldBeTooLongSaysEverything() {
        var short = FollowedInvalidations("4-m")
        #expect(short.header(of: Self.history) == #"{"position":"5-m","drop":[{"operation":"c/Q"}]}"#)
        #expect(short.header(of: Self.history) == nil)
        let id = String(repeating: "e", count: 30)
        let many = Self.history((0..<200).map { ("entity \(id)\($0)", 6) }, generation: 6)
        let foreign = Self.history([("connector \u{e9}", 6)], generation: 6)
        for history in [many, foreign] {
            var followed = FollowedInvalidations("5-m")
            #expect(followed.header(of: history) == #"{"position":"6-m","drop":"everything"}"#)
        }
    }

    /// An event stream carries them as an event of its own; other clients do not listen to it.
    @Test func onlyEventStreamsCarryThem() {
        let told: JSONValue = ["position": "5-m", "drop": []]
        let event = "event: invalidations\ndata: {\"position\":\"5-m\",\"drop\":[]}\n\n"
        for format in StreamFormat.allCases {
            let text = format.invalidated(told).map { String(decoding: $0, as: UTF8.self) }
            #expect(text == (format.contentType == "text/event-stream" ? event : nil), "\(format)")
        }
    }
}
