import Catalog
import DeploymentPlan
import JSON
import LiveModel
import SchemaModel

/// The differences between two versions of the project, and what clients of the former would notice. Pure.
struct VersionChanges: Sendable {
    /// Operations by their whole name, sorted.
    let added: [String]
    let removed: [String]
    let changed: [String]
    /// The findings of `freshet deploy --dry-run`; an error breaks clients.
    let findings: [Diagnostic]

    /// The operations and findings that one list shows.
    private static let listedMax = 100

    /// - Parameter project: the project of the new catalog.
    init(from old: Catalog, to new: Catalog, project: Project) {
        let (before, after) = (Self.versions(old), Self.versions(new))
        added = after.keys.filter { before[$0] == nil }.sorted().map(\.description)
        removed = before.keys.filter { after[$0] == nil }.sorted().map(\.description)
        changed = after.filter { before[$0.key].map { [version = $0.value] in $0 != version } ?? false }
            .keys.sorted().map(\.description)
        findings = CompatibilityCheck.findings(from: old, to: new, project: project)
    }

    private static func versions(_ catalog: Catalog) -> [OperationReference: Digest] {
        let operations = catalog.connectors.values.flatMap(\.operations.values).map { ($0.reference, $0.version) }
        return Dictionary(operations, uniquingKeysWith: { first, _ in first })
    }

    var json: JSONValue {
        func list(_ names: [String]) -> JSONValue { .array(names.prefix(Self.listedMax).map(JSONValue.string)) }
        return [
            "added": list(added), "removed": list(removed), "changed": list(changed),
            "breaking": .int(Int64(findings.count { $0.severity == .error })),
            "findings": .array(
                findings.prefix(Self.listedMax).map { finding in
                    [
                        "severity": .string(finding.severity == .error ? "error" : "warning"),
                        "rule": .string(finding.rule.rawValue), "message": .string(finding.message),
                        "help": finding.help.map { .string($0) } ?? .null,
                    ]
                }),
        ]
    }
}
