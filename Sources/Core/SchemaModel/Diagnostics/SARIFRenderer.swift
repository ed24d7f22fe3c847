package import JSON

/// Encodes diagnostics in the Static Analysis Results Interchange Format (SARIF) 2.1.0 of OASIS, which editors and code
/// hosts read.
package enum SARIFRenderer {
    /// Returns a log with one run, in the given order.
    /// - Parameter version: the version of this program.
    package static func log(_ diagnostics: [Diagnostic], version: String) -> JSONValue {
        let rules = Set(diagnostics.map(\.rule)).sorted { $0.rawValue < $1.rawValue }
        let positions = Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($0.element, $0.offset) })
        let driver: JSONObject = [
            "name": "freshet", "semanticVersion": .string(semantic(version)),
            "rules": .array(rules.map(rule)),
        ]
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": [
                [
                    "tool": ["driver": .object(driver)], "columnKind": "unicodeCodePoints",
                    "results": .array(diagnostics.map { result($0, positions[$0.rule] ?? 0) }),
                ]
            ],
        ]
    }

    private static func rule(_ rule: Diagnostic.Rule) -> JSONValue {
        ["id": .string(rule.rawValue), "shortDescription": ["text": .string(rule.sentence)]]
    }

    /// Converts any version text to the semantic version that the format requires, such as `1.2.3`.
    private static func semantic(_ version: String) -> String {
        let parts = version.split(separator: ".").prefix(3).map { $0.prefix { $0.isNumber } }.filter { !$0.isEmpty }
        return (parts.map(String.init) + ["0", "0", "0"]).prefix(3).joined(separator: ".")
    }

    private static func result(_ diagnostic: Diagnostic, _ position: Int) -> JSONValue {
        let text = diagnostic.message + (diagnostic.help.map { "\n\($0)" } ?? "")
        var location: JSONObject = ["artifactLocation": ["uri": .string(uri(diagnostic.file))]]
        if diagnostic.line > 0 {
            location["region"] = [
                "startLine": .int(Int64(diagnostic.line)), "startColumn": .int(Int64(diagnostic.column)),
                "endColumn": .int(Int64(diagnostic.column + diagnostic.length)),
            ]
        }
        return [
            "ruleId": .string(diagnostic.rule.rawValue), "ruleIndex": .int(Int64(position)),
            "level": .string(diagnostic.severity.rawValue), "message": ["text": .string(text)],
            "locations": [["physicalLocation": .object(location)]],
        ]
    }

    /// Converts a path to a URI reference; relative paths stay relative (RFC 3986 §2.3, §3.3).
    private static func uri(_ path: String) -> String {
        let kept = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/@!$&'()*+,;=".utf8)
        var text = path.hasPrefix("/") ? "file://" : ""
        for byte in path.utf8 {
            if kept.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }
}
