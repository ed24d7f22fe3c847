/// All settings, typed and checked: `settings.http.port`. Sections are members of `SettingSections`, settings members
/// of their section; both can be assigned, so that a test can start from the defaults and change one.
@dynamicMemberLookup
package struct Settings: Sendable, Hashable {
    package var profile: SettingProfile
    /// A value for every key of the table, of the key's kind.
    private var values: [String: SettingValue]

    /// The defaults.
    package init(profile: SettingProfile = .serve) {
        self.profile = profile
        values = SettingTable.byPath.mapValues { $0.standard(in: profile) }
    }

    /// - Parameter value: of the key's kind and range.
    package mutating func set(_ value: SettingValue, for key: SettingKey) {
        values[key.path] = value
    }

    package func value(of key: SettingKey) -> SettingValue {
        guard let value = values[key.path] else { preconditionFailure("\(key.path) is not in the table") }
        return value
    }

    package subscript<Section: SettingSection>(
        dynamicMember _: KeyPath<SettingSections, Section>
    ) -> SectionSettings<Section> {
        get { SectionSettings(values: values) }
        set { values = newValue.values }
    }
}

/// The settings of one section.
@dynamicMemberLookup
package struct SectionSettings<Section: SettingSection>: Sendable {
    fileprivate var values: [String: SettingValue]

    package subscript<Value>(dynamicMember member: KeyPath<Section, Setting<Value>>) -> Value {
        get {
            let setting = Section.declared[keyPath: member]
            guard let value = values[setting.key.path] else {
                preconditionFailure("\(setting.key.path) is not in the table")
            }
            return setting.decode(value)
        }
        set {
            let setting = Section.declared[keyPath: member]
            values[setting.key.path] = setting.encode(newValue)
        }
    }
}
