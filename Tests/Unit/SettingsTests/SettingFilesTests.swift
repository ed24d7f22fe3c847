import TestSupport
import Testing

@testable import Settings

@Suite struct SettingFilesTests {
    /// Operators copy them.
    @Test func theExamplesOfTheSecurityPageAreRead() throws {
        let examples = try Repository.text("docs/security.md").matches(of: #/(?s)```yaml\n(.*?)```/#)
            .map { String($0.1) }
        try #require(examples.count == 2)
        let issuers = try IssuerFile.parse(examples[0], allowsHTTP: false)
        #expect(issuers.map(\.issuer.isEmpty) == [false, false])
        #expect(issuers.last?.audiences == ["freshet"] && issuers.last?.uidPrefix == "staff:")
        let keys = try APIKeyFile.parse(examples[1])
        #expect(keys.keys.sorted() == ["web-2025", "web-2026"])
        guard case .text = keys["web-2026"], case .digest = keys["web-2025"] else {
            Issue.record("the first is a key, the second a digest")
            return
        }
    }

    @Test func issuersAreRead() throws {
        let entries = try IssuerFile.parse(
            """
            issuers:
              - issuer: https://a.example
                audience: [one, two]
                clientId: three
                uidClaim: email
                uidPrefix: "a|"
              - {"issuer": "https://b.example", "audience": "x", "jwksFile": "/keys.json"}
            """, allowsHTTP: false)
        var first = IssuerEntry(issuer: "https://a.example")
        (first.audiences, first.clientIDs, first.uidClaim, first.uidPrefix) = (
            ["one", "two"], ["three"], "email", "a|"
        )
        var second = IssuerEntry(issuer: "https://b.example")
        (second.audiences, second.jwksFile) = (["x"], "/keys.json")
        #expect(entries == [first, second])
    }

    @Test(arguments: [
        ("", "list \"issuers\""), ("issuers: 3", "list \"issuers\""), ("issuers: []\nmore: 1", "nothing else"),
        ("issuers: [3]", "issuer 1: it is not an object"), ("issuers: [{audience: a}]", "\"issuer\" is missing"),
        ("issuers: [{issuer: 'https://a'}]", "\"audience\" or \"clientId\""),
        ("issuers: [{issuer: 'http://a', audience: a}]", "must begin with https://"),
        ("issuers: [{issuer: 'https://a', audience: a, jwksUrl: 'http://a'}]", "must begin with https://"),
        ("issuers: [{issuer: 'https://a', audience: []}]", "\"audience\" must be"),
        ("issuers: [{issuer: 'https://a', audience: a, audiance: b}]", "unknown key \"audiance\""),
        ("issuers: [{issuer: 'https://a', audience: a, uidClaim: 3}]", "\"uidClaim\" must be a string"),
        ("{", "not YAML"),
    ]) func mistakesAreNamed(text: String, reason: String) {
        let error = #expect(throws: SettingsFileError.self) { try IssuerFile.parse(text, allowsHTTP: false) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func keysAreRead() throws {
        let digest = String(repeating: "AB", count: 32)
        let keys = try APIKeyFile.parse("web: 0123456789abcdef\nold: sha256:\(digest)\n")
        #expect(keys == ["web": .text("0123456789abcdef"), "old": .digest(digest.lowercased())])
        for text in ["[]", "web: short", "web: 12345678901234567", "web: sha256:12", "\"\": 0123456789abcdef"] {
            #expect(throws: SettingsFileError.self, "\(text)") { try APIKeyFile.parse(text) }
        }
    }
}
