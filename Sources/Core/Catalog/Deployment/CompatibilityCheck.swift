import Operations
import GraphQLLanguage
package import LiveModel
package import SchemaModel

/// Whether clients of a served version can go on with a new one: compares two catalogs, operation by operation.
///
/// Errors are what would break a client that worked before; warnings are what an operator should know. What the database
/// needs is not asked here: `Migration.plan` refuses what would lose data.
///
/// | rule | severity | the new version |
/// | --- | --- | --- |
/// | `service-changed`, `connector-removed`, `operation-removed`, `operation-kind` | error | has another name or kind |
/// | `variable-removed`, `variable-required`, `variable-type`, `variable-allowance` | error | takes less than before |
/// | `auth-stricter` | error | lets fewer callers in, or nobody can tell |
/// | `auth-looser` | warning | lets more callers in |
/// | `result-field-removed` | error | leaves a field out of the result |
/// | `operation-text` | warning | has another text: clients may send the old one while the old version is in service |
/// | `refresh-removed` | warning | refreshes a query by fewer rules |
package enum CompatibilityCheck {
    /// - Parameters:
    ///   - project: of the new catalog: its files are what the findings point into.
    /// - Returns: in order of operations; empty when no client can tell the difference.
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

/// Where operations stand in a project's files.
package struct OperationPlaces {
    private var places: [OperationReference: (file: SourceFile, range: SourceRange)] = [:]

    package init(_ project: Project) {
        for connector in project.connectors {
            for file in connector.files {
                guard let document = try? Parser.parseDocument(file.source) else { continue }
                for operation in document.operations {
                    guard let name = operation.name else { continue }
                    let reference = OperationReference(connector: connector.id, operation: name.value)
                    places[reference] = (file, name.range)
                }
            }
        }
    }

    /// - Parameter reference: nil for what is gone and has no place.
    package func diagnostic(
        _ reference: OperationReference?, _ severity: Diagnostic.Severity, _ rule: String, _ message: String,
        help: String? = nil
    ) -> Diagnostic {
        guard let reference, let (file, range) = places[reference] else {
            return Diagnostic(
                severity: severity, rule: rule, message: message, file: "(project)", line: 0, column: 0, help: help)
        }
        return file.diagnostic(severity, rule: rule, at: range, message, help: help)
    }
}
