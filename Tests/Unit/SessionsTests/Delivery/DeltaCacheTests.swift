import JSON
import JSONPatch
import LiveModel
import Sessions
import Testing

@Suite struct DeltaCacheTests {
    private func body(_ number: Int, padding: Int = 400) -> [UInt8] {
        Array(#"{"n":\#(number),"rest":"\#(String(repeating: "x", count: padding))"}"#.utf8)
    }

    /// A macro's operand cannot change its variable.
    private func patch(_ cache: inout DeltaCache, from: Digest, to: Digest, _ body: [UInt8]) -> [UInt8]? {
        cache.patch(from: from, to: to, OperationAnswer(body: body))
    }

    private func digest(_ number: Int) -> Digest { Digest(of: body(number)) }

    @Test func aPatchIsComputedOnceForAllSubscribers() {
        var cache = DeltaCache(bytesMax: 1 << 20, resultBytesMax: 1 << 16)
        #expect(patch(&cache, from: digest(1), to: digest(2), body(2)) == nil, "1 was never seen")
        cache.remember(digest(1), OperationAnswer(body: body(1)))
        for _ in 0..<5_000 {
            let patch = cache.patch(from: digest(1), to: digest(2), OperationAnswer(body: body(2)))
            #expect(
                patch.map { String(decoding: $0, as: UTF8.self) } == #"[{"op":"replace","path":"/data/n","value":2}]"#)
        }
        #expect(cache.computedCount == 1)
        #expect(patch(&cache, from: digest(1), to: digest(1), body(1)) == Array("[]".utf8))
    }

    @Test func uselessPatchesAreRemembered() {
        var cache = DeltaCache(bytesMax: 1 << 20, resultBytesMax: 1 << 16)
        let short = Array(#"{"n":1}"#.utf8)
        cache.remember(digest(1), OperationAnswer(body: body(1)))
        for _ in 0..<9 { #expect(patch(&cache, from: digest(1), to: Digest(of: short), short) == nil) }
        #expect(cache.computedCount == 1)
    }

    @Test func resultsWithErrorsAreSentWhole() {
        var cache = DeltaCache(bytesMax: 1 << 20, resultBytesMax: 1 << 16)
        let partial = OperationAnswer(body: body(2), errors: [RequestError(.permissionDenied, "no", path: [.key("n")])])
        cache.remember(digest(1), OperationAnswer(body: body(1)))
        let patch = cache.patch(from: digest(1), to: partial.digest, partial)
        #expect(patch == nil)
        cache.remember(partial.digest, partial)
        #expect(self.patch(&cache, from: partial.digest, to: digest(3), body(3)) == nil)
    }

    @Test func theCacheIsBoundedAndDropsUnusedResults() {
        var cache = DeltaCache(bytesMax: 8_192, resultBytesMax: 1_000)
        for number in 0..<100 {
            cache.remember(digest(number), OperationAnswer(body: body(number)))
            let patch =
                number > 0 ? cache.patch(from: digest(0), to: digest(number), OperationAnswer(body: body(number))) : []
            #expect(patch != nil, "0 is in use")
        }
        #expect(patch(&cache, from: digest(50), to: digest(99), body(99)) == nil, "50 is not")
        let large = body(7, padding: 2_000)
        cache.remember(Digest(of: large), OperationAnswer(body: large))
        #expect(patch(&cache, from: Digest(of: large), to: digest(99), body(99)) == nil)
        #expect(patch(&cache, from: digest(0), to: Digest(of: large), large) == nil)
        var none = DeltaCache(bytesMax: 0, resultBytesMax: 1_000)
        none.remember(digest(1), OperationAnswer(body: body(1)))
        #expect(patch(&none, from: digest(1), to: digest(2), body(2)) == nil)
    }
}
