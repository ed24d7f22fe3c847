package import LiveModel

/// One entry to append to a stream.
package struct StreamAppend: Sendable {
    /// A `lengthMax` below this is raised to it, so that gap detection may skip reads smaller than this (`GapCheck`).
    package static let lengthMaxFloor = 64

    package var stream: String
    /// In order; names may repeat; values are any bytes. At least one.
    package var fields: [(name: String, value: [UInt8])]
    /// Older entries may go once the stream has more than this many; at least this many stay. Nil: no bound here.
    package var lengthMax: Int?
    /// The whole stream disappears this long after its last append. Nil: it stays.
    package var expireMs: Int?

    package init(
        stream: String, fields: [(name: String, value: [UInt8])], lengthMax: Int? = nil, expireMs: Int? = nil
    ) {
        self.stream = stream
        self.fields = fields
        self.lengthMax = lengthMax.map { max($0, StreamAppend.lengthMaxFloor) }
        self.expireMs = expireMs
    }
}

/// One entry of a stream.
package struct StreamEntry: Sendable, Equatable {
    package var id: StreamID
    package var fields: [(name: String, value: [UInt8])]

    package init(id: StreamID, fields: [(name: String, value: [UInt8])]) {
        self.id = id
        self.fields = fields
    }

    /// The value of the first field of that name.
    package subscript(name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

    package static func == (left: StreamEntry, right: StreamEntry) -> Bool {
        left.id == right.id && left.fields.count == right.fields.count
            && zip(left.fields, right.fields).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}

/// What is known of a stream without reading it.
package struct StreamInfo: Sendable, Hashable {
    /// Entries held now.
    package var length: Int
    /// The oldest entry held; nil when there is none.
    package var firstID: StreamID?
    /// The last id ever given out, also when that entry is gone.
    package var lastID: StreamID
    /// The greatest id that was deleted one by one (trimming does not count).
    package var maxDeletedID: StreamID
    /// Entries added since the stream was created; `entriesAdded - length` were removed.
    package var entriesAdded: UInt64

    package init(
        length: Int, firstID: StreamID?, lastID: StreamID, maxDeletedID: StreamID = .zero, entriesAdded: UInt64
    ) {
        self.length = length
        self.firstID = firstID
        self.lastID = lastID
        self.maxDeletedID = maxDeletedID
        self.entriesAdded = entriesAdded
    }
}
