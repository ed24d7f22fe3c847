import JSON
import LiveModel
import Testing

@testable internal import Tokens

@Suite("Parts of token verification")
struct TokenPartsTests {
    @Test(arguments: [
        ("", [] as [UInt8]?), ("AA", [0]), ("AAA", [0, 0]), ("_-8", [255, 239]), ("AAAA", [0, 0, 0]), ("A", nil),
        ("AB", nil), ("AAB", nil), ("AA==", nil), ("A+AA", nil), ("A/AA", nil), ("AA\n", nil), ("AAAAA", nil),
    ])
    func base64URLHasOneSpellingPerValue(text: String, expected: [UInt8]?) {
        #expect(Base64URL.decode(Array(text.utf8)) == expected)
    }

    @Test("the cache is bounded and keeps what is used")
    func cache() {
        var cache = TokenCache(bytesMax: 100)
        let token = VerifiedToken(auth: Auth(uid: "a", token: [:]), expiresAtMs: nil)
        func digest(_ number: Int) -> Digest { Digest(of: Array("\(number)".utf8)) }
        for number in 0..<1000 {
            cache.insert(token, for: digest(number), bytes: 10)
            #expect(cache.count <= 10)
            #expect(cache.find(digest(0)) != nil)
        }
        #expect(cache.find(digest(1)) == nil)
        #expect(cache.find(digest(999)) != nil)
        cache.insert(token, for: digest(2000), bytes: 51)
        #expect(cache.find(digest(2000)) == nil)
        cache.remove(digest(999))
        #expect(cache.find(digest(999)) == nil)
        cache.removeAll()
        #expect(cache.count == 0)
    }

    @Test(arguments: [
        "https://a.example/keys?x=1#f", "https://a.example", "http://127.0.0.1:8080/k", "https://[::1]:444?q",
    ])
    func httpURLsAreValidKeyAddresses(text: String) {
        #expect(KeyURL.isValid(text))
    }

    @Test(arguments: [
        "", "ftp://a/", "https://", "https://u:p@a/", "https://a:0/", "https://a:99999/", "https://a:x/",
        "https://a/ b", "https://a/\r\nX: y", "https://é/", "https://[::1/",
    ])
    func otherTextsAreNoKeyAddresses(text: String) {
        #expect(!KeyURL.isValid(text))
    }
}
