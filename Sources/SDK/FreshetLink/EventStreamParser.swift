/// Reads an event stream (HTML standard, section 9.2.6). Ids and retry times are of no use here.
struct EventStreamParser: Sendable {
    struct Event: Hashable, Sendable {
        /// `message` if the stream names none.
        let name: String
        let data: [UInt8]
    }

    /// The unfinished line.
    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8] = []
    private var hasData = false

    /// - Returns: the events that are complete now; nil if one is longer than `bytesMax`.
    mutating func append(_ bytes: [UInt8], bytesMax: Int) -> [Event]? {
        var events: [Event] = []
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            line += part
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let event = endLine() { events.append(event) }
            line = []
        }
        line += bytes.suffix(while: { $0 != UInt8(ascii: "\n") })
        return line.count + data.count <= bytesMax ? events : nil
    }

    private mutating func endLine() -> Event? {
        if line.isEmpty {
            defer { (name, data, hasData) = ("", [], false) }
            return hasData ? Event(name: name.isEmpty ? "message" : name, data: data) : nil
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        default: break
        }
        return nil
    }
}

extension [UInt8] {
    /// The elements after the last one that does not fit.
    fileprivate func suffix(while fits: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        self[(lastIndex { !fits($0) }.map { $0 + 1 } ?? startIndex)...]
    }
}
