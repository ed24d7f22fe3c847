/// How Freshet is run: `freshet dev` has some other defaults and allows what a production node must not do.
package enum SettingProfile: String, Sendable, CaseIterable {
    case serve, dev
}

/// A setting's value. A duration is an `int` of milliseconds.
package enum SettingValue: Hashable, Sendable {
    case int(Int)
    case bool(Bool)
    case string(String)
    case stringList([String])
}

/// The description by which a setting is parsed, checked, printed and documented, whatever the type of its values.
package struct SettingKey: Sendable {
    package enum Kind: String, Sendable {
        case int, bool, string, stringList
        /// Milliseconds; a text may carry a unit: `500ms`, `2s`, `5m`, `1h`.
        case duration
    }

    package enum Unit: String, Sendable {
        case none = ""
        case milliseconds
        /// A text may carry a unit: `64KiB`, `8MiB`, `1GiB`.
        case bytes
    }

    package enum Allowed: Sendable, Hashable {
        case anything
        case ints(ClosedRange<Int>)
        /// The allowed values of a string, or of every element of a list.
        case choices([String])
    }

    /// `section.name`, where the name ends with its unit.
    package let path: String
    package let kind: Kind
    package let unit: Unit
    package let allowed: Allowed
    /// The default of `freshet serve`.
    package let standard: SettingValue
    /// The default of `freshet dev` if it differs.
    package let devStandard: SettingValue?
    /// One sentence.
    package let doc: String
    /// Never printed.
    package let secret: Bool
    /// Outside `freshet dev` only the value of `standard` is accepted.
    package let devOnly: Bool

    init(
        _ path: String, kind: Kind, unit: Unit = .none, standard: SettingValue, devStandard: SettingValue? = nil,
        allowed: Allowed = .anything, secret: Bool = false, devOnly: Bool = false, doc: String
    ) {
        self.path = path
        self.kind = kind
        self.unit = unit
        self.allowed = allowed
        self.standard = standard
        self.devStandard = devStandard
        self.doc = doc
        self.secret = secret
        self.devOnly = devOnly
    }

    package var section: String { String(path.prefix { $0 != "." }) }
    package var name: String { String(path.drop { $0 != "." }.dropFirst()) }

    package func standard(in profile: SettingProfile) -> SettingValue {
        profile == .dev ? devStandard ?? standard : standard
    }

    /// `gateway.sessionBytesMax` as `FRESHET_GATEWAY_SESSION_BYTES_MAX`.
    package var environmentName: String { environmentWords.joined(separator: "_").uppercased() }

    /// The path split before every capital letter.
    var environmentWords: [String] {
        var words = ["freshet"]
        for component in path.split(separator: ".") {
            var word = ""
            for character in component {
                if character.isUppercase {
                    words.append(word)
                    word = ""
                }
                word.append(character)
            }
            words.append(word)
        }
        return words
    }
}
