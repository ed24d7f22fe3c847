/// The reference file, and the settings in effect as text.
extension SettingTable {
    /// `config/freshet.yaml`: every setting commented out at its default, with its description.
    package static var referenceYAML: String {
        var text = """
            # Freshet's settings, each commented out at its default; remove the # before a name to change it.
            # Flags (--set section.name=value) override environment variables (FRESHET_SECTION_NAME), which override
            # this file. A duration may be written 500ms, 2s, 5m or 1h, a size 64KiB, 8MiB or 1GiB. A secret can also
            # be read from a file: a variable with the suffix _FILE (FRESHET_POSTGRES_URL_FILE) holds the path.
            # `freshet config --print` shows the settings in effect and where each comes from.

            """
        for section in sections {
            text += "\n# \(section.doc)\n\(section.name):\n"
            for key in keys where key.section == section.name {
                text += "  # \(key.doc)\n"
                text += "  # \(key.facts). \(key.environmentName)\n"
                text += "  #\(key.name): \(key.standard.yaml)\n"
            }
        }
        return text
    }
}

extension SettingKey {
    /// Type, unit, range and default in one line.
    package var facts: String {
        var facts: [String] = []
        switch kind {
        case .duration: facts.append("Milliseconds")
        case .int where unit == .bytes: facts.append("Bytes")
        case .int: facts.append("Whole number")
        case .bool: facts.append("true or false")
        case .string: facts.append(secret ? "Text, secret" : "Text")
        case .stringList: facts.append(secret ? "List of texts, secret" : "List of texts")
        }
        if !allowedText.isEmpty { facts.append(allowedText) }
        facts.append("default \(standard.yaml)" + (humanDefault.map { " (\($0))" } ?? ""))
        if let devStandard { facts.append("under freshet dev \(devStandard.yaml)") }
        if devOnly { facts.append("only for freshet dev") }
        return facts.joined(separator: ", ")
    }

    /// `1 MiB` for 1048576, `1 h` for 3600000; nil without a whole number of a larger unit.
    private var humanDefault: String? {
        guard case .int(let value) = standard, value > 0 else { return nil }
        let units: [(Int, String)] =
            switch unit {
            case .bytes: [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
            case .milliseconds: [(3_600_000, "h"), (60_000, "min"), (1000, "s")]
            case .none: []
            }
        return units.first { value % $0.0 == 0 }.map { "\(value / $0.0) \($0.1)" }
    }
}

extension LoadedSettings {
    /// The output of `freshet config --print`: YAML that can be used as a settings file, with the origin of each value.
    /// Secrets are replaced by a note that they are set.
    package var text: String {
        var text = ""
        for section in SettingTable.sections {
            text += "\(section.name):\n"
            for row in values where row.key.section == section.name {
                let isSet = row.key.secret && row.value != .string("") && row.value != .stringList([])
                let line = isSet ? "  # \(row.key.name): set, secret" : "  \(row.key.name): \(row.value.yaml)"
                text += line + String(repeating: " ", count: max(1, 44 - line.count)) + "# \(row.origin)\n"
            }
        }
        return text
    }
}
