/// A setting whose values are of type `Value`: declared once, as a member of its section, with everything that parsing,
/// checking, documenting and reading it needs.
package struct Setting<Value: Sendable>: DeclaredSetting {
    package let key: SettingKey
    /// Both know the kind that `key` has; `decode` traps on another, which no input can reach: `SettingKey.parse` and
    /// `encode` are the only sources of values.
    let decode: @Sendable (SettingValue) -> Value
    let encode: @Sendable (Value) -> SettingValue
}

/// A setting of any type.
protocol DeclaredSetting: Sendable {
    var key: SettingKey { get }
}

let kib = 1024
let mib = 1024 * 1024
let minute = 60_000
let hour = 3_600_000

// MARK: Kinds of settings

extension Setting where Value == Int {
    static func int(_ path: String, _ standard: Int, in range: ClosedRange<Int>, _ doc: String) -> Setting {
        number(SettingKey(path, kind: .int, standard: .int(standard), allowed: .ints(range), doc: doc))
    }

    static func bytes(_ path: String, _ standard: Int, in range: ClosedRange<Int>, _ doc: String) -> Setting {
        number(SettingKey(path, kind: .int, unit: .bytes, standard: .int(standard), allowed: .ints(range), doc: doc))
    }

    /// A duration in milliseconds.
    static func duration(
        _ path: String, _ standard: some BinaryInteger, dev: Int? = nil, in range: ClosedRange<Int>, _ doc: String
    ) -> Setting {
        number(
            SettingKey(
                path, kind: .duration, unit: .milliseconds, standard: .int(Int(standard)),
                devStandard: dev.map { .int($0) }, allowed: .ints(range), doc: doc))
    }

    private static func number(_ key: SettingKey) -> Setting {
        Setting(
            key: key,
            decode: { value in
                guard case .int(let number) = value else { preconditionFailure("\(key.path) is \(value)") }
                return number
            }, encode: { .int($0) })
    }
}

extension Setting where Value == Bool {
    static func bool(
        _ path: String, _ standard: Bool, dev: Bool? = nil, devOnly: Bool = false, _ doc: String
    ) -> Setting {
        Setting(
            key: SettingKey(
                path, kind: .bool, standard: .bool(standard), devStandard: dev.map { .bool($0) }, devOnly: devOnly,
                doc: doc),
            decode: { value in
                guard case .bool(let bool) = value else { preconditionFailure("\(path) is \(value)") }
                return bool
            }, encode: { .bool($0) })
    }
}

extension Setting where Value == String {
    static func string(
        _ path: String, _ standard: String, choices: [String]? = nil, _ doc: String
    ) -> Setting {
        Setting(
            key: SettingKey(
                path, kind: .string, standard: .string(standard), allowed: choices.map { .choices($0) } ?? .anything,
                doc: doc),
            decode: { $0.text(of: path) }, encode: { .string($0) })
    }
}

extension Setting where Value == String? {
    /// Nil when the text is empty, which is the default unless `standard` says otherwise.
    static func optional(
        _ path: String, standard: String = "", dev: String? = nil, secret: Bool = false, _ doc: String
    ) -> Setting {
        Setting(
            key: SettingKey(
                path, kind: .string, standard: .string(standard), devStandard: dev.map { .string($0) }, secret: secret,
                doc: doc),
            decode: { value in
                let text = value.text(of: path)
                return text.isEmpty ? nil : text
            }, encode: { .string($0 ?? "") })
    }
}

extension Setting where Value == [String] {
    static func list(_ path: String, standard: [String] = [], secret: Bool = false, _ doc: String) -> Setting {
        Setting(
            key: SettingKey(path, kind: .stringList, standard: .stringList(standard), secret: secret, doc: doc),
            decode: { $0.list(of: path) }, encode: { .stringList($0) })
    }
}

extension Setting where Value: RawRepresentable<String> & CaseIterable {
    /// Exactly the cases of `Value` are allowed.
    static func choice(_ path: String, _ standard: Value, _ doc: String) -> Setting {
        Setting(
            key: SettingKey(
                path, kind: .string, standard: .string(standard.rawValue),
                allowed: .choices(Value.allCases.map(\.rawValue)), doc: doc),
            decode: { value in
                guard let choice = Value(rawValue: value.text(of: path)) else {
                    preconditionFailure("\(path) is \(value)")
                }
                return choice
            }, encode: { .string($0.rawValue) })
    }
}

extension Setting {
    /// A list of cases of `Element`; all of them by default.
    static func choices<Element: RawRepresentable<String> & CaseIterable & Hashable>(
        _ path: String, _ doc: String
    ) -> Setting where Value == Set<Element> {
        let names = Element.allCases.map(\.rawValue)
        return Setting(
            key: SettingKey(
                path, kind: .stringList, standard: .stringList(names), allowed: .choices(names), doc: doc),
            decode: { Set($0.list(of: path).compactMap(Element.init(rawValue:))) },
            encode: { chosen in .stringList(Element.allCases.filter(chosen.contains).map(\.rawValue)) })
    }
}

extension SettingValue {
    fileprivate func text(of path: String) -> String {
        guard case .string(let text) = self else { preconditionFailure("\(path) is \(self)") }
        return text
    }

    fileprivate func list(of path: String) -> [String] {
        guard case .stringList(let list) = self else { preconditionFailure("\(path) is \(self)") }
        return list
    }
}
