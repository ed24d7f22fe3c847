import GraphQLLanguage
package import LiveModel
import Operations
package import SchemaModel

/// The locations of operations in a project's files.
package struct OperationLocations {
    private var locations: [OperationReference: (file: SourceFile, range: SourceRange)] = [:]

    package init(_ project: Project) {
        for connector in project.connectors {
            for file in connector.files {
                guard let document = try? Parser.parseDocument(file.source) else { continue }
                for operation in document.operations {
                    guard let name = operation.name else { continue }
                    let reference = OperationReference(connector: connector.id, operation: name.value)
                    locations[reference] = (file, name.range)
                }
            }
        }
    }

    /// - Parameter reference: nil for something that was removed and has no location.
    package func diagnostic(
        _ reference: OperationReference?, _ severity: Diagnostic.Severity, _ rule: Diagnostic.Rule, _ message: String,
        help: String? = nil
    ) -> Diagnostic {
        guard let reference, let (file, range) = locations[reference] else {
            return Diagnostic(
                severity: severity, rule: rule, message: message, file: "(project)", line: 0, column: 0, help: help)
        }
        return file.diagnostic(severity, rule: rule, at: range, message, help: help)
    }
}
