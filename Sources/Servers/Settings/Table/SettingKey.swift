/// How Freshet is being run: `freshet dev` has some other defaults and allows what a served node must not do.
package enum SettingProfile: String, Sendable, CaseIterable {
    case serve, dev
}

/// A value of the table's types. A duration is an `int` of milliseconds.
package enum SettingValue: Hashable, Sendable {
    case int(Int)
    case double(Double)
    case bool(Bool)
    case string(String)
    case stringList([String])
}

/// One setting: everything that parsing, checking, printing and documenting it needs.
package struct SettingKey: Sendable {
    package enum Kind: String, Sendable {
        case int, double, bool, string, stringList
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
        case doubles(ClosedRange<Double>)
        /// Of a string its value, of a list every element.
        case choices([String])
    }

    /// `section.name`, the name with its unit as suffix.
    package let path: String
    package let kind: Kind
    package let unit: Unit
    package let allowed: Allowed
    /// The default of `freshet serve`.
    package let standard: SettingValue
    /// The default of `freshet dev` where it differs.
    package let devStandard: SettingValue?
    /// One sentence.
    package let doc: String
    /// Never printed.
    package let secret: Bool
    /// Refused outside `freshet dev` unless it has the value of `standard`.
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

    /// The path cut before every capital letter.
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

/// Short spellings, so that the table reads as one.
extension SettingKey {
    static func int(_ path: String, _ standard: Int, in range: ClosedRange<Int>, _ doc: String) -> SettingKey {
        SettingKey(path, kind: .int, standard: .int(standard), allowed: .ints(range), doc: doc)
    }

    static func bytes(_ path: String, _ standard: Int, in range: ClosedRange<Int>, _ doc: String) -> SettingKey {
        SettingKey(path, kind: .int, unit: .bytes, standard: .int(standard), allowed: .ints(range), doc: doc)
    }

    static func duration(
        _ path: String, _ standard: Int, dev: Int? = nil, in range: ClosedRange<Int>, _ doc: String
    ) -> SettingKey {
        SettingKey(
            path, kind: .duration, unit: .milliseconds, standard: .int(standard), devStandard: dev.map { .int($0) },
            allowed: .ints(range), doc: doc)
    }

    static func bool(
        _ path: String, _ standard: Bool, dev: Bool? = nil, devOnly: Bool = false, _ doc: String
    ) -> SettingKey {
        SettingKey(
            path, kind: .bool, standard: .bool(standard), devStandard: dev.map { .bool($0) }, devOnly: devOnly,
            doc: doc)
    }

    static func string(
        _ path: String, _ standard: String, dev: String? = nil, choices: [String]? = nil, secret: Bool = false,
        _ doc: String
    ) -> SettingKey {
        SettingKey(
            path, kind: .string, standard: .string(standard), devStandard: dev.map { .string($0) },
            allowed: choices.map { .choices($0) } ?? .anything, secret: secret, doc: doc)
    }

    static func list(
        _ path: String, _ standard: [String], choices: [String]? = nil, secret: Bool = false, _ doc: String
    ) -> SettingKey {
        SettingKey(
            path, kind: .stringList, standard: .stringList(standard),
            allowed: choices.map { .choices($0) } ?? .anything, secret: secret, doc: doc)
    }
}
