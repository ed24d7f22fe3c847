import FoundationEssentials

/// A source of a JSON Web Key Set, read again when a token names an unknown key.
package struct KeySource: Sendable {
    /// The largest key set that is read.
    package static let bytesMax = 256 << 10

    /// The path or address, for messages and logs.
    package let name: String
    /// Reads the key set; must have its own time limit.
    package let fetch: @Sendable () async throws -> [UInt8]

    package init(name: String, fetch: @escaping @Sendable () async throws -> [UInt8]) {
        self.name = name
        self.fetch = fetch
    }

    /// A file, read again at every fetch.
    package static func file(_ path: String) -> KeySource {
        KeySource(name: path) {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw FetchError(code: .unreadable)
            }
            guard data.count <= bytesMax else { throw FetchError(code: .tooLarge) }
            return Array(data)
        }
    }

    /// An `https:` address; the settings decide whether `http:` is allowed.
    package static func url(_ address: String, by downloads: KeyDownloads) -> KeySource {
        KeySource(name: address) { try await downloads.get(address) }
    }
}

/// The reason that a key set could not be read.
struct FetchError: Error, Hashable, CustomStringConvertible {
    enum Code: String {
        case unreadable = "the file does not exist or is not readable"
        case badAddress = "the address is not an http or https URL"
        case connectionFailed = "the connection failed"
        case closedEarly = "the connection closed before the response was complete"
        case timedOut = "the request timed out"
        case tooLarge = "it is too large"
        case badStatus = "the response status is not 200"
        case stopped = "the node is stopping"
        case badConfiguration = "the issuer's configuration is invalid"
    }

    let code: Code
    /// The status or the system's message, for operators.
    let detail: String

    init(code: Code, detail: String = "") {
        self.code = code
        self.detail = String(detail.prefix(200))
    }

    var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue) (\(detail))" }
}

/// The rule for key set addresses: `http` or `https`, a host and optionally a port, no user information, ASCII only.
enum KeyURL {
    static func isValid(_ text: String) -> Bool {
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: text.hasPrefix) else { return false }
        let rest = text.dropFirst(scheme.count)
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return false }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@") else { return false }
        var name = authority.prefix { $0 != ":" }
        var port = authority.dropFirst(name.count)
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            name = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
        }
        if name.isEmpty { return false }
        if port.isEmpty { return true }
        return port.first == ":" && UInt16(port.dropFirst()).map { $0 > 0 } ?? false
    }
}
