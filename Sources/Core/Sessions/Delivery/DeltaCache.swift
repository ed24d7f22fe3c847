import JSONPatch
package import LiveModel

/// The results held by clients that requested deltas, and the patches between them, so that a patch from one result to
/// the next is computed once, whatever the number of sessions. One per event loop.
///
/// Two generations: a full young generation becomes the old one, and the former old one is dropped; entries in use
/// survive. A client whose result is no longer here gets the next one whole.
package struct DeltaCache: Sendable {
    private struct Step: Hashable {
        let from: Digest
        let to: Digest
    }

    private enum Key: Hashable {
        case body(Digest)
        case patch(Step)
    }

    private enum Entry {
        case body([UInt8])
        case patch([UInt8])
        /// The whole result is shorter.
        case whole

        var byteCount: Int {
            switch self {
            case .body(let bytes), .patch(let bytes): bytes.count + DeltaCache.entryOverhead
            case .whole: DeltaCache.entryOverhead
            }
        }
    }

    private static let entryOverhead = 128

    /// The limit for both generations together.
    package let bytesMax: Int
    /// Longer results are sent whole: comparing them would occupy the event loop for too long.
    package let resultBytesMax: Int
    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    private var youngBytes = 0
    /// Patches computed; for tests and benchmarks.
    package private(set) var computedCount = 0

    package init(bytesMax: Int, resultBytesMax: Int) {
        self.bytesMax = bytesMax
        self.resultBytesMax = resultBytesMax
    }

    /// Notes that a client holds this result from now on. Patches cover `data` alone, so they neither start from nor
    /// lead to a result with errors.
    package mutating func remember(_ digest: Digest, _ answer: OperationAnswer) {
        guard answer.errors.isEmpty, answer.body.count <= resultBytesMax, find(.body(digest)) == nil else { return }
        insert(.body(digest), .body(answer.body))
    }

    /// The JSON Patch that turns `{"data": from}` into `{"data": to}`, as text. Nil: send the whole result.
    package mutating func patch(from: Digest, to: Digest, _ answer: OperationAnswer) -> [UInt8]? {
        guard answer.errors.isEmpty, answer.body.count <= resultBytesMax else { return nil }
        if from == to { return Array("[]".utf8) }
        let step = Step(from: from, to: to)
        switch find(.patch(step)) {
        case .patch(let patch)?: return patch
        case .whole?: return nil
        case .body?, nil: break
        }
        guard case .body(let former)? = find(.body(from)) else { return nil }
        computedCount += 1
        let patch = JSONPatch.difference(
            from: former, to: answer.body, at: "/data",
            limits: .init(bytesMax: former.count + answer.body.count))
        insert(.patch(step), patch.map { .patch($0) } ?? .whole)
        return patch
    }

    private mutating func find(_ key: Key) -> Entry? {
        if let entry = young[key] { return entry }
        guard let entry = old.removeValue(forKey: key) else { return nil }
        insert(key, entry)
        return entry
    }

    private mutating func insert(_ key: Key, _ entry: Entry) {
        guard entry.byteCount <= bytesMax / 2 else { return }
        if youngBytes + entry.byteCount > bytesMax / 2 {
            old = young
            young = [:]
            youngBytes = 0
        }
        young[key] = entry
        youngBytes += entry.byteCount
    }
}
