import Gateway
import Testing

/// The client as operators see it, by the headers that SDKs send.
@Suite struct ClientDescriptionTests {
    @Test(
        arguments: [
            (["x-goog-api-client": "gl-js/ fire/11", "user-agent": "x"], "gl-js/ fire/11"),
            (["x-client-name": "app", "x-client-version": "3"], "app/3"), (["x-client-version": "3"], "3"),
            (["user-agent": "curl/8"], "curl/8"), ([:], ""),
        ] as [([String: String], String)])
    func theMostTellingHeaderCounts(_ headers: [String: String], _ text: String) {
        #expect(ClientDescription { headers[$0] }.text == text)
    }

    @Test func longTextsAreCutBetweenCharacters() {
        let text = ClientDescription { $0 == "user-agent" ? "a" + String(repeating: "ü", count: 200) : nil }.text
        #expect(text.utf8.count == 127 && text.hasSuffix("ü"))
    }
}
