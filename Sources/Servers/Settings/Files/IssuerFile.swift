import Yams

/// One issuer of `auth.issuersFile`.
package struct IssuerEntry: Sendable, Hashable {
    /// Value of the claim `iss`, and base URL of the issuer's configuration.
    package var issuer: String
    package var audiences: [String] = []
    /// Values of the claim `client_id`, for Cognito's access tokens, which have no audience.
    package var clientIDs: [String] = []
    /// If this and `jwksFile` are nil, `ISSUER/.well-known/openid-configuration` names the key set.
    package var jwksUrl: String?
    package var jwksFile: String?
    /// The claim that becomes `auth.uid`; nil: `user_id`, else `sub`.
    package var uidClaim: String?
    package var uidPrefix = ""

    package init(issuer: String) {
        self.issuer = issuer
    }
}

/// The problem of a file that a setting names, and its place in the file.
package struct SettingsFileError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The file of `auth.issuersFile`, YAML or JSON:
///
///     issuers:
///       - issuer: https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab12
///         audience: [4tq…]          # for ID tokens
///         clientId: [4tq…]          # for Cognito's access tokens
///         uidClaim: sub
///
/// Every issuer needs an audience or a client id; otherwise tokens of its other apps would be accepted.
package enum IssuerFile {
    package static let issuersMax = 64

    private static let keys: Set<String> = [
        "issuer", "audience", "clientId", "jwksUrl", "jwksFile", "uidClaim", "uidPrefix",
    ]

    /// - Parameter allowsHTTP: true under `freshet dev`.
    package static func parse(_ text: String, allowsHTTP: Bool) throws(SettingsFileError) -> [IssuerEntry] {
        let root: Any?
        do {
            root = try Yams.load(yaml: text)
        } catch {
            throw SettingsFileError("it is not YAML: \(error)")
        }
        guard let object = root as? [String: Any], Set(object.keys) == ["issuers"],
            let list = object["issuers"] as? [Any]
        else { throw SettingsFileError("it must contain the list \"issuers\" and nothing else") }
        guard list.count <= issuersMax else { throw SettingsFileError("it has more than \(issuersMax) issuers") }
        var entries: [IssuerEntry] = []
        for (index, value) in list.enumerated() {
            do throws(SettingsFileError) {
                entries.append(try entry(value, allowsHTTP: allowsHTTP))
            } catch {
                throw SettingsFileError("issuer \(index + 1): \(error)")
            }
        }
        return entries
    }

    private static func entry(_ value: Any, allowsHTTP: Bool) throws(SettingsFileError) -> IssuerEntry {
        guard let object = value as? [String: Any] else { throw SettingsFileError("it is not an object") }
        if let unknown = object.keys.sorted().first(where: { !keys.contains($0) }) {
            throw SettingsFileError("unknown key \"\(unknown)\"; known are \(keys.sorted().joined(separator: ", "))")
        }
        guard let issuer = try text(object, "issuer") else { throw SettingsFileError("\"issuer\" is missing") }
        var entry = IssuerEntry(issuer: issuer)
        entry.audiences = try texts(object, "audience")
        entry.clientIDs = try texts(object, "clientId")
        entry.jwksUrl = try text(object, "jwksUrl")
        entry.jwksFile = try text(object, "jwksFile")
        entry.uidClaim = try text(object, "uidClaim")
        entry.uidPrefix = try text(object, "uidPrefix") ?? ""
        guard !entry.audiences.isEmpty || !entry.clientIDs.isEmpty else {
            throw SettingsFileError("it needs \"audience\" or \"clientId\"")
        }
        // Over plain HTTP an attacker on the path could replace the keys and sign any token.
        let fetched = entry.jwksFile == nil ? entry.jwksUrl ?? issuer : nil
        if let fetched, !allowsHTTP, !fetched.hasPrefix("https://") {
            throw SettingsFileError("\(fetched) must begin with https://")
        }
        return entry
    }

    private static func text(_ object: [String: Any], _ key: String) throws(SettingsFileError) -> String? {
        guard let value = object[key] else { return nil }
        guard let text = value as? String, !text.isEmpty else {
            throw SettingsFileError("\"\(key)\" must be a string")
        }
        return text
    }

    /// A text, or a list of texts.
    private static func texts(_ object: [String: Any], _ key: String) throws(SettingsFileError) -> [String] {
        guard let value = object[key] else { return [] }
        let texts = value as? [String] ?? (value as? String).map { [$0] } ?? []
        guard !texts.isEmpty, texts.allSatisfy({ !$0.isEmpty }) else {
            throw SettingsFileError("\"\(key)\" must be a string or a list of strings")
        }
        return texts
    }
}
