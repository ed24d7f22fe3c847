package import Catalog
import LiveModel
import Operations
package import SchemaModel

/// Compares two catalogs, operation by operation, to decide whether clients of a served version can continue with a new
/// one.
///
/// Errors are changes that would break a working client; warnings are changes that an operator should know. Changes of
/// the database are checked elsewhere: `Migration.plan` refuses what would lose data.
///
/// | rule | severity | the new version |
/// | --- | --- | --- |
/// | `service-changed`, `connector-removed`, `operation-removed`, `operation-kind` | error | lacks or changes it |
/// | `variable-removed`, `variable-required`, `variable-type`, `variable-allowance` | error | accepts less |
/// | `auth-stricter` | error | admits fewer callers, or may do so |
/// | `auth-looser` | warning | admits more callers |
/// | `result-field-removed` | error | omits a field from the result |
/// | `operation-text` | warning | has another text: clients may send the old one while the old version is in service |
/// | `refresh-removed` | warning | refreshes a query under fewer rules |
package enum CompatibilityCheck {
    /// - Parameters:
    ///   - project: the project of the new catalog; the findings refer to its files.
    /// - Returns: the findings in order of operations; empty if no client can notice a difference.
    package static func findings(from old: Catalog, to new: Catalog, project: Project) -> [Diagnostic] {
        let locations = OperationLocations(project)
        var findings: [Diagnostic] = []
        if old.serviceID != new.serviceID {
            findings.append(
                locations.diagnostic(
                    nil, .error, .serviceChanged, "the service was \"\(old.serviceID)\", now \"\(new.serviceID)\""))
        }
        for (id, connector) in old.connectors.sorted(by: { $0.key < $1.key }) {
            guard let successor = new.connectors[id] else {
                findings.append(locations.diagnostic(nil, .error, .connectorRemoved, "connector \"\(id)\" is gone"))
                continue
            }
            for (_, operation) in connector.operations.sorted(by: { $0.key < $1.key }) {
                guard let next = successor.operations[operation.reference.operation] else {
                    findings.append(
                        locations.diagnostic(
                            nil, .error, .operationRemoved,
                            "\(operation.kind.rawValue) \"\(operation.reference)\" is gone"))
                    continue
                }
                if next.version == operation.version { continue }
                let comparison = OperationComparison(
                    old: operation, new: next, oldSchema: old.schema, newSchema: new.schema)
                findings += comparison.findings.map {
                    locations.diagnostic(next.reference, $0.severity, $0.rule, $0.message, help: $0.help)
                }
            }
        }
        return findings
    }
}
