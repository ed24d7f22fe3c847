/// Secrets in files: `FRESHET_POSTGRES_URL_FILE=/run/secrets/postgres-url` instead of the text itself, as compose,
/// Kubernetes and systemd provide them. Only secret settings have such a variable; an empty one counts as unset.
enum SecretFiles {
    /// Suffix of the variables' names.
    static let suffix = "_FILE"
    /// Longer files are refused.
    static let bytesMax = 1 << 16

    /// The environment in which each variable that names a secret's file is replaced by the secret.
    ///
    /// - Parameter read: returns the text of a file.
    /// - Throws: for a file that is unreadable, empty, too long or given in addition to the secret itself. The error
    ///   never contains the text.
    static func resolved(
        _ environment: [String: String], read: (String) throws(SettingsError) -> String
    ) throws(SettingsError) -> [String: String] {
        var result = environment
        var problems: [SettingsError.Problem] = []
        for key in SettingTable.keys where key.secret {
            let variable = key.environmentName + suffix
            guard let path = result.removeValue(forKey: variable), !path.isEmpty else { continue }
            let origin = "environment \(variable)"
            if let text = environment[key.environmentName], !text.isEmpty {
                problems.append(
                    .init(origin: origin, message: "\(key.environmentName) is set as well; set only one of them"))
                continue
            }
            do throws(SettingsError) {
                // The line break that editors add at the end is not part of the secret.
                let text = try read(path)
                let secret = String(text.reversed().drop { $0.isNewline }.reversed())
                if secret.isEmpty || text.utf8.count > bytesMax {
                    let what = secret.isEmpty ? "is empty" : "is longer than \(bytesMax) bytes"
                    problems.append(.init(origin: origin, message: "\(path) \(what)"))
                } else {
                    result[key.environmentName] = secret
                }
            } catch {
                problems += error.problems.map { .init(origin: origin, message: "\($0.origin) \($0.message)") }
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return result
    }
}
