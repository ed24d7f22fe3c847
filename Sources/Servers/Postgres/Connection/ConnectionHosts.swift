import CLibpq

extension String {
    /// The text in one line; libpq ends messages with a line break.
    func trimming() -> String { split(whereSeparator: \.isNewline).joined(separator: " ") }
}

/// The hosts of a connection string. libpq itself tries several, but gives non-blocking callers no time limit for each,
/// so one unresponsive host would use up the whole attempt. The driver therefore tries one host at a time.
struct ConnectionHosts: Sendable, Equatable {
    /// Keywords that override the connection string, for each host; one empty choice when it names at most one host.
    let choices: [[(keyword: String, value: String)]]
    /// Whether only a host that accepts writes will do: several hosts are given without `target_session_attrs`.
    let needsWriter: Bool

    /// A connection string that libpq cannot parse has no choices; connecting reports the problem.
    init(_ connectionString: String) {
        let values = Self.values(of: connectionString)
        func list(_ keyword: String) -> [String]? {
            values[keyword].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        }
        let lists = ["host", "hostaddr"].compactMap { keyword in list(keyword).map { (keyword, $0) } }
        let count = lists.map(\.1.count).max() ?? 0
        // One port for each host, or one for all.
        let ports = list("port") ?? []
        guard count > 1, lists.allSatisfy({ $0.1.count == count }), ports.count <= 1 || ports.count == count else {
            choices = [[]]
            needsWriter = false
            return
        }
        choices = (0..<count).map { index in
            var choice = lists.map { (keyword: $0.0, value: $0.1[index]) }
            if ports.count == count { choice.append((keyword: "port", value: ports[index])) }
            return choice
        }
        needsWriter = values["target_session_attrs"] == nil
    }

    /// Host and port for people, without user and password; of several, as the connection string lists them.
    static func address(of connectionString: String) -> String {
        let values = values(of: connectionString)
        return "\(values["host"] ?? values["hostaddr"] ?? "localhost"):\(values["port"] ?? "5432")"
    }

    private static func values(of connectionString: String) -> [String: String] {
        var values: [String: String] = [:]
        guard let options = PQconninfoParse(connectionString, nil) else { return values }
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        PQconninfoFree(options)
        return values
    }

    /// The reason that libpq cannot parse a connection string; nil when it can, and for a bare database name.
    static func problem(of connectionString: String) -> String? {
        let isName = !connectionString.contains("=") && !connectionString.hasPrefix("postgres")
        if isName { return nil }
        var message: UnsafeMutablePointer<CChar>?
        if let options = PQconninfoParse(connectionString, &message) {
            PQconninfoFree(options)
            return nil
        }
        defer { PQfreemem(message) }
        return message.map { String(cString: $0).trimming() } ?? "the connection string cannot be parsed"
    }

    static func == (left: ConnectionHosts, right: ConnectionHosts) -> Bool {
        left.needsWriter == right.needsWriter
            && left.choices.elementsEqual(right.choices) { $0.elementsEqual($1) { $0 == $1 } }
    }
}
