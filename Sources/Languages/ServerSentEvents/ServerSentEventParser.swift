/// Splits a `text/event-stream` into events. Source: WHATWG HTML section 9.2.6.
package struct ServerSentEventParser: Sendable {
    package struct Event: Sendable, Hashable {
        package var name: String
        package var id: String?
        package var data: [UInt8]
    }

    private let bytesMax: Int
    private var line: [UInt8] = []
    private var endedWithCR = false
    private var name = ""
    private var id: String?
    private var data: [UInt8] = []
    private var hasData = false
    /// Whether `bytesMax` was exceeded: what follows is of no use.
    package private(set) var isTooLarge = false

    /// - Parameter bytesMax: the longest line or event.
    package init(bytesMax: Int = 16 << 20) {
        self.bytesMax = bytesMax
    }

    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            switch byte {
            case 0x0A where endedWithCR: endedWithCR = false
            case 0x0A, 0x0D:
                endedWithCR = byte == 0x0D
                if let event = endLine() { events.append(event) }
            default:
                endedWithCR = false
                if line.count + data.count < bytesMax { line.append(byte) } else { isTooLarge = true }
            }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty {
            defer {
                name = ""
                data = []
                hasData = false
            }
            return hasData ? Event(name: name.isEmpty ? "message" : name, id: id, data: data) : nil
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "data":
            if hasData { data.append(0x0A) }
            data.append(contentsOf: value)
            hasData = true
        default: break
        }
        return nil
    }
}
