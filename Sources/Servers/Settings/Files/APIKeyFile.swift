import Yams

/// The file of `auth.apiKeysFile`, YAML or JSON: names and keys. To rotate an app's key, list the old and the new one
/// under two names.
///
///     web-2026: 3f0c…            # the key itself, 16 bytes or more
///     web-2025: sha256:9c56…     # or its digest, so that the file holds no secret
package enum APIKeyFile {
    package static let keysMax = 1_000
    package static let keyBytesMin = 16
    package static let keyBytesMax = 256
    package static let nameBytesMax = 64

    package enum Key: Sendable, Hashable {
        case text(String)
        /// 64 lowercase hexadecimal digits.
        case digest(String)
    }

    package static func parse(_ text: String) throws(SettingsFileError) -> [String: Key] {
        let root: Any?
        do {
            root = try Yams.load(yaml: text)
        } catch {
            throw SettingsFileError("it is not YAML: \(error)")
        }
        guard let object = root as? [String: Any] else {
            throw SettingsFileError("it must be an object of names and keys")
        }
        guard object.count <= keysMax else { throw SettingsFileError("it has more than \(keysMax) keys") }
        var keys: [String: Key] = [:]
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            guard !name.isEmpty, name.utf8.count <= nameBytesMax else {
                throw SettingsFileError("a name must have 1 to \(nameBytesMax) bytes")
            }
            guard let key = value as? String else { throw SettingsFileError("the key \"\(name)\" must be a string") }
            if key.hasPrefix("sha256:") {
                let digits = key.dropFirst(7).lowercased()
                guard digits.utf8.count == 64, digits.allSatisfy(\.isHexDigit) else {
                    throw SettingsFileError("the key \"\(name)\" must have 64 hexadecimal digits after sha256:")
                }
                keys[name] = .digest(digits)
            } else {
                guard (keyBytesMin...keyBytesMax).contains(key.utf8.count) else {
                    throw SettingsFileError("the key \"\(name)\" must have \(keyBytesMin) to \(keyBytesMax) bytes")
                }
                keys[name] = .text(key)
            }
        }
        return keys
    }
}
