package import LiveModel
package import Refresh
package import Streams

/// The tail of a shard's event stream, read page by page from its end when the shard is taken.
package struct EventHistory: Sendable {
    /// Entries of one page: with the largest variables that is still a reply of some megabytes.
    package static let pageMax = 64

    /// The last id that the stream assigned.
    package let lastID: StreamID
    /// What the next page ends before; nil when nothing more is wanted, or can be had without a hole.
    package private(set) var before: StreamID?
    private var newestFirst: [EventEntry] = []
    private var byteCount = 0
    private let countMax: Int
    private let bytesMax: Int

    /// - Parameters:
    ///   - lastID: zero: there is no stream.
    ///   - bytesMax: of the entries as the stream has them; the page that passes it counts in part.
    package init(lastID: StreamID, countMax: Int, bytesMax: Int) {
        self.lastID = lastID
        self.countMax = countMax
        self.bytesMax = bytesMax
        before = lastID == .zero ? nil : lastID.successor
    }

    /// Oldest first, without a hole up to `lastID`; one that cannot be read ends the tail.
    package var entries: [EventEntry] { newestFirst.reversed() }

    /// - Parameter page: the last `pageMax` entries before `before`, newest first.
    package mutating func add(_ page: [StreamEntry]) {
        before = page.count < Self.pageMax ? nil : page.last?.id
        var decoder = EventDecoder()
        for entry in page {
            let read = EventEntry(entry, &decoder)
            guard read.event != nil, newestFirst.count < countMax, byteCount + read.byteCount <= bytesMax else {
                before = nil
                return
            }
            newestFirst.append(read)
            byteCount += read.byteCount
        }
        if newestFirst.count == countMax { before = nil }
    }
}

extension EventEntry {
    init(_ entry: StreamEntry, _ decoder: inout EventDecoder) {
        let encoded = entry.event
        self.init(id: entry.id, event: encoded.flatMap { decoder.event($0) }, byteCount: encoded?.count ?? 0)
    }
}
