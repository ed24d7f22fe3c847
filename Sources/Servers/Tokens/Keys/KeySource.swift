import FoundationEssentials

/// Where a JSON Web Key Set comes from. It is asked again when a token names an unknown key.
package struct KeySource: Sendable {
    /// At most this much is read.
    package static let bytesMax = 256 << 10

    /// In messages and logs: the path or address.
    package let name: String
    /// Must end within a time of its own.
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

    /// An `https:` address (`http:` works too: whether that is wise, the settings decide).
    package static func url(_ address: String, timeoutMs: Int = 10_000) -> KeySource {
        KeySource(name: address) {
            guard let url = KeyURL(address) else { throw FetchError(code: .badAddress) }
            return try await KeyDownload(url: url, bytesMax: bytesMax, timeoutMs: timeoutMs).run()
        }
    }
}

/// Why a key set could not be read.
struct FetchError: Error, Hashable, CustomStringConvertible {
    enum Code: String {
        case unreadable = "no such file, or not readable"
        case badAddress = "the address is no http or https URL"
        case connectionFailed = "the connection failed"
        case tlsFailed = "TLS failed, the certificate may not be trusted"
        case closedEarly = "the connection ended before the answer did"
        case timedOut = "no answer in time"
        case tooLarge = "it is too large"
        case badStatus = "the answer is not 200"
        case badConfiguration = "the issuer's configuration cannot be used"
    }

    let code: Code
    /// The status, or what the system said; for operators.
    let detail: String

    init(code: Code, detail: String = "") {
        self.code = code
        self.detail = String(detail.prefix(200))
    }

    var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue) (\(detail))" }
}

/// The parts of a URL that a request needs. Nothing is decoded: the path goes out as it was written.
struct KeyURL: Hashable, Sendable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// Path and query.
    let target: String

    init?(_ text: String) {
        let rest: Substring
        if text.hasPrefix("https://") {
            (isSecure, rest) = (true, text.dropFirst(8))
        } else if text.hasPrefix("http://") {
            (isSecure, rest) = (false, text.dropFirst(7))
        } else {
            return nil
        }
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let after = rest.dropFirst(authority.count).prefix { $0 != "#" }
        target = after.hasPrefix("/") ? String(after) : "/\(after)"
        guard !authority.contains("@") else { return nil }
        let name: Substring
        let portText: Substring
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            name = authority[authority.index(after: authority.startIndex)..<end]
            portText = authority[authority.index(after: end)...]
        } else {
            name = authority.prefix { $0 != ":" }
            portText = authority.dropFirst(name.count)
        }
        guard !name.isEmpty else { return nil }
        host = String(name)
        if portText.isEmpty {
            port = isSecure ? 443 : 80
        } else {
            guard portText.first == ":", let number = UInt16(portText.dropFirst()), number > 0 else { return nil }
            port = Int(number)
        }
    }

    /// For the header `Host`.
    var hostHeader: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
