/// Every setting, in the order of its declaration. Parsing, checks, `freshet config --print` and `config/freshet.yaml`
/// are made from it; it is made from the members of `SettingSections`, so a setting that is declared is in it.
package enum SettingTable {
    /// Sections in their order, each with the sentence above it.
    package static let sections: [(name: String, doc: String)] = declared.map { ($0.name, $0.doc) }

    package static let keys: [SettingKey] = declared.flatMap { $0.settings.map(\.key) }

    package static let byPath: [String: SettingKey] = Dictionary(
        keys.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })

    /// Members of the sections, with the names that the code calls them.
    static let declared: [(name: String, doc: String, settings: [(member: String, key: SettingKey)])] =
        Mirror(reflecting: SettingSections()).children.map { name, value in
            guard let name, let section = value as? any SettingSection else {
                preconditionFailure("\(name ?? "?") is no section")
            }
            let settings = Mirror(reflecting: section).children.map { member, value in
                guard let member, let setting = value as? any DeclaredSetting else {
                    preconditionFailure("\(name).\(member ?? "?") is no setting")
                }
                return (member: member, key: setting.key)
            }
            return (name, type(of: section).doc, settings)
        }
}
