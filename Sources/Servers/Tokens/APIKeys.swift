package import LiveModel
package import Settings
import Synchronization

/// The API keys of a node. A key identifies an app, not a user: a caller with only a key is signed out and may run
/// PUBLIC operations only.
package final class APIKeys: Sendable {
    private struct Keys {
        /// Names by the SHA-256 of the key, so that look-ups leak nothing about a key by their timing.
        var names: [Digest: String] = [:]
        var known: Set<String> = []
    }

    /// Whether callers that are signed out need a key.
    private let isRequired: Bool
    /// Whether there is a file of keys. Without one keys are ignored: SDKs made for other services send theirs.
    private let isOn: Bool
    private let keys = Mutex(Keys())

    package init(isOn: Bool, isRequired: Bool) {
        self.isOn = isOn
        self.isRequired = isRequired
    }

    /// Replaces all keys.
    /// - Returns: whether the keys changed.
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

    /// Looks up a key.
    /// - Returns: the key's name; nil if none was sent or none is needed.
    /// - Throws: `.unauthenticated` for an unknown key.
    package func name(of key: String?) throws(RequestError) -> String? {
        guard isOn, let key, !key.isEmpty else { return nil }
        let bytes = Array(key.utf8.prefix(APIKeyFile.keyBytesMax + 1))
        guard let name = keys.withLock({ $0.names[Digest(of: bytes)] }) else {
            throw RequestError(.unauthenticated, "the API key is unknown")
        }
        return name
    }

    /// Returns the error for a caller that is signed out and may not proceed.
    /// - Parameter name: the name of the caller's key.
    package func refusal(of name: String?) -> RequestError? {
        if let name {
            return keys.withLock { $0.known.contains(name) }
                ? nil : RequestError(.unauthenticated, "the API key is no longer valid")
        }
        return isOn && isRequired ? RequestError(.unauthenticated, "an API key or a token is required") : nil
    }
}
