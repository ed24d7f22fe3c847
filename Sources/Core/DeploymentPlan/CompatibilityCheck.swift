package import Catalog
import LiveModel
import Operations
package import SchemaModel

/// Compares two catalogs, operation by operation: whether clients of a served version can go on with a new one.
///
/// Errors are what would break a client that worked before; warnings are what an operator should know. What the
/// database needs is another question: `Migration.plan` refuses what would lose data.
///
/// | rule | severity | the new version |
/// | --- | --- | --- |
/// | `service-changed`, `connector-removed`, `operation-removed`, `operation-kind` | error | has another name or kind |
/// | `variable-removed`, `variable-required`, `variable-type`, `variable-allowance` | error | takes less than before |
/// | `auth-stricter` | error | lets fewer callers in, or perhaps does |
/// | `auth-looser` | warning | lets more callers in |
/// | `result-field-removed` | error | leaves a field out of the result |
/// | `operation-text` | warning | has another text: clients may send the old one while the old version is in service |
/// | `refresh-removed` | warning | refreshes a query by fewer rules |
package enum CompatibilityCheck {
    /// - Parameters:
    ///   - project: that of the new catalog; the findings point into its files.
    /// - Returns: in order of operations; empty when no client can notice a difference.
    package static func findings(from old: Catalog, to new: Catalog, project: Project) -> [Diagnostic] {
        let places = OperationPlaces(project)
        var findings: [Diagnostic] = []
        if old.serviceID != new.serviceID {
            findings.append(
                places.diagnostic(
                    nil, .error, "service-changed", "the service was \"\(old.serviceID)\", now \"\(new.serviceID)\""))
        }
        for (id, connector) in old.connectors.sorted(by: { $0.key < $1.key }) {
            guard let successor = new.connectors[id] else {
                findings.append(places.diagnostic(nil, .error, "connector-removed", "connector \"\(id)\" is gone"))
                continue
            }
            for (_, operation) in connector.operations.sorted(by: { $0.key < $1.key }) {
                guard let next = successor.operations[operation.reference.operation] else {
                    findings.append(
                        places.diagnostic(
                            nil, .error, "operation-removed",
                            "\(operation.kind.rawValue) \"\(operation.reference)\" is gone"))
                    continue
                }
                if next.version == operation.version { continue }
                let comparison = OperationComparison(
                    old: operation, new: next, oldSchema: old.schema, newSchema: new.schema)
                findings += comparison.findings.map {
                    places.diagnostic(next.reference, $0.severity, $0.rule, $0.message, help: $0.help)
                }
            }
        }
        return findings
    }
}
