import Foundation
import JSON

/// Lines of an event stream.
final class LineLog: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func append(_ line: String) { lock.withLock { lines.append(line) } }

    /// Whether anything came.
    var isOpened: Bool { lock.withLock { !lines.isEmpty } }

    /// The first data of any kind.
    var firstData: JSONValue? {
        let line = lock.withLock { lines.first { $0.hasPrefix("data: ") } }
        return line.flatMap { try? JSONParser.parse(Array($0.dropFirst(6).utf8)) }
    }

    /// The data of all entries of a kind.
    func all(of kind: String) -> [JSONValue] {
        let lines = lock.withLock { self.lines }
        var found: [JSONValue] = []
        for (number, line) in lines.enumerated() where line == "event: \(kind)" {
            guard let data = lines[number...].first(where: { $0.hasPrefix("data: ") }) else { continue }
            if let entry = try? JSONParser.parse(Array(data.dropFirst(6).utf8)) { found.append(entry) }
        }
        return found
    }

    /// The data of the first entry of a kind.
    /// - Parameter former: an entry after which it must come.
    func data(of kind: String, after former: JSONValue? = nil) -> JSONValue? {
        let found = all(of: kind)
        guard let former else { return found.first }
        // A bare nil would be a JSON null, which is a value.
        guard let place = found.firstIndex(of: former) else { return Optional.none }
        return found.dropFirst(place + 1).first
    }
}
