package import LiveModel
package import Refresh
package import Streams

/// The tail of a shard's events stream, read backwards page by page when the worker takes the shard.
package struct EventHistory: Sendable {
    /// Entries per page: with the largest variables, a reply of some megabytes.
    package static let pageMax = 64

    /// The last id that the stream assigned.
    package let lastID: StreamID
    /// The id before which the next page ends; nil if no further page is needed or can be read without a gap.
    package private(set) var before: StreamID?
    private var newestFirst: [EventEntry] = []
    private var byteCount = 0
    private let countMax: Int
    private let bytesMax: Int

    /// - Parameters:
    ///   - lastID: zero if there is no stream.
    ///   - bytesMax: limit on the encoded entries; the page that exceeds it is used up to the limit.
    package init(lastID: StreamID, countMax: Int, bytesMax: Int) {
        self.lastID = lastID
        self.countMax = countMax
        self.bytesMax = bytesMax
        before = lastID == .zero ? nil : lastID.successor
    }

    /// The entries up to `lastID` without a gap, oldest first. The tail begins after the newest unreadable entry.
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
