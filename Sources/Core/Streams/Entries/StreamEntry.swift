package import LiveModel

/// An entry to append to a stream.
package struct StreamAppend: Sendable {
    /// The minimum of `lengthMax`. Gap detection relies on it: reads of fewer entries need no comparison (`ReadPlan`).
    package static let lengthMaxFloor = 64

    package var stream: String
    /// The fields, at least one, in order; names may repeat, values are arbitrary bytes.
    package var fields: [(name: String, value: [UInt8])]
    /// The oldest entries may be removed while the stream has more than this many. Nil: no limit.
    package var lengthMax: Int?
    /// The whole stream expires this long after its last append. Nil: never.
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

/// An entry of a stream.
package struct StreamEntry: Sendable, Equatable {
    package var id: StreamID
    package var fields: [(name: String, value: [UInt8])]

    package init(id: StreamID, fields: [(name: String, value: [UInt8])]) {
        self.id = id
        self.fields = fields
    }

    /// Whether the entry is a node's probe of its own stream.
    package var isProbe: Bool { fields.first?.name == StreamField.probe }

    /// The value of the first field with that name.
    package subscript(name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

    package static func == (left: StreamEntry, right: StreamEntry) -> Bool {
        left.id == right.id && left.fields.count == right.fields.count
            && zip(left.fields, right.fields).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}

/// A stream's counters, available without reading its entries.
package struct StreamInfo: Sendable, Hashable {
    /// Entries held now.
    package var length: Int
    /// The oldest entry held; nil when there is none.
    package var firstID: StreamID?
    /// The last id ever assigned, even if its entry is gone.
    package var lastID: StreamID
    /// The greatest id among entries deleted singly; trimming does not change it.
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
