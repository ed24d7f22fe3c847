package import LiveModel
package import Settings
import Synchronization

/// The API keys of a node. A key names an app and no user: who shows a good one is signed out, and so gets at operations
/// of the level PUBLIC and no others.
package final class APIKeys: Sendable {
    private struct Keys {
        /// Names by the SHA-256 of the key: looking one up tells nothing about its bytes by time.
        var names: [Digest: String] = [:]
        var known: Set<String> = []
    }

    /// Nobody who is signed out is let in without one.
    private let isRequired: Bool
    /// Without a file keys mean nothing: SDKs of other services send theirs.
    private let isOn: Bool
    private let keys = Mutex(Keys())

    package init(isOn: Bool, isRequired: Bool) {
        self.isOn = isOn
        self.isRequired = isRequired
    }

    /// In place of those there were.
    /// - Returns: whether there are others now.
    @discardableResult
    package func set(_ entries: [String: APIKeyFile.Key]) -> Bool {
        var new = Keys()
        for (name, key) in entries {
            switch key {
            case .text(let text): new.names[Digest(of: Array(text.utf8))] = name
            case .digest(let hex): if let digest = Digest(hex: hex) { new.names[digest] = name }
            }
            new.known.insert(name)
        }
        return keys.withLock { keys in
            defer { keys = new }
            return keys.names != new.names
        }
    }

    /// - Returns: the key's name; nil when none was shown or none is asked for.
    /// - Throws: `.unauthenticated`.
    package func judge(_ key: String?) throws(RequestError) -> String? {
        guard isOn, let key, !key.isEmpty else { return nil }
        let bytes = Array(key.utf8.prefix(APIKeyFile.keyBytesMax + 1))
        guard let name = keys.withLock({ $0.names[Digest(of: bytes)] }) else {
            throw RequestError(.unauthenticated, "The API key is not known.")
        }
        return name
    }

    /// Why somebody who is signed out is not let in.
    /// - Parameter name: of the key that was shown.
    package func refusal(of name: String?) -> RequestError? {
        if let name {
            return keys.withLock { $0.known.contains(name) }
                ? nil : RequestError(.unauthenticated, "The API key is no longer valid.")
        }
        return isOn && isRequired ? RequestError(.unauthenticated, "An API key or a token is needed.") : nil
    }
}
