/// The README of a generated web package.
struct JavaScriptReadme {
    let connector: ConnectorDescription
    let options: JavaScriptOptions

    var text: String {
        var writer = CodeWriter(indentation: 2)
        writer.line("# \(options.package)")
        writer.line()
        writer.line("Typed functions for the connector `\(connector.id)` of the service `\(connector.serviceID)`.")
        writer.line("`freshet generate` wrote this folder and replaces it whenever the operations change.")
        writer.line()
        writer.line("```ts")
        writer.line("import { connectDataConnectEmulator, getDataConnect } from 'firebase/data-connect';")
        let settings = options.cache == nil ? "" : ", dataConnectSettings"
        writer.line("import { connectorConfig\(settings) } from '\(options.package)';")
        writer.line()
        writer.line("const dc = getDataConnect(connectorConfig\(settings));")
        writer.line("connectDataConnectEmulator(dc, 'localhost', 9399); // the host and port of the server")
        writer.line("```")
        for kind in [OperationDescription.Kind.query, .mutation] {
            let operations = connector.operations.filter { $0.kind == kind }
            guard !operations.isEmpty else { continue }
            writer.line()
            writer.line(kind == .query ? "## Queries" : "## Mutations")
            for operation in operations { describe(operation, in: &writer) }
        }
        return writer.text
    }

    private func describe(_ operation: OperationDescription, in writer: inout CodeWriter) {
        let name = TypeScriptTypes.function(of: operation)
        let variables = OperationTable.arguments(of: operation)
        writer.line()
        writer.line("### \(operation.name)")
        writer.line()
        if let documentation = operation.documentation {
            writer.line(documentation)
            writer.line()
        }
        OperationTable.describe(operation, in: &writer)
        writer.line("```ts")
        switch operation.kind {
        case .query:
            writer.line("const { data } = await \(name)(\(variables));")
            if operation.isRefreshed {
                let arguments = variables.isEmpty ? "" : variables
                writer.line(
                    "const unsubscribe = subscribe(\(name)Ref(\(arguments)), ({ data }) => show(data));")
            }
            if options.hasReact {
                writer.line("const query = use\(Naming.upperFirst(operation.name))(\(variables)); // React")
            }
            if options.hasAngular {
                writer.line("query = inject\(Naming.upperFirst(operation.name))(\(variables)); // Angular")
            }
        case .mutation:
            writer.line("const { data } = await \(name)(\(variables));")
            if options.hasReact {
                writer.line("const { mutate } = use\(Naming.upperFirst(operation.name))(); // React")
            }
            if options.hasAngular {
                writer.line("mutation = inject\(Naming.upperFirst(operation.name))(); // Angular")
            }
        }
        writer.line("```")
    }
}

/// The README of a generated package for administrators.
struct AdminReadme {
    let connector: ConnectorDescription
    let options: JavaScriptOptions

    var text: String {
        var writer = CodeWriter(indentation: 2)
        writer.line("# \(options.package)")
        writer.line()
        writer.line("Typed functions for `firebase-admin` over the connector `\(connector.id)` of the service")
        writer.line("`\(connector.serviceID)`. `freshet generate` wrote this folder and replaces it whenever the")
        writer.line("operations change. Set `DATA_CONNECT_EMULATOR_HOST` to the server's host and port.")
        for operation in connector.operations {
            writer.line()
            writer.line("## \(operation.name)")
            writer.line()
            if let documentation = operation.documentation {
                writer.line(documentation)
                writer.line()
            }
            OperationTable.describe(operation, in: &writer)
            writer.line("```ts")
            writer.line(
                "const { data } = await"
                    + " \(TypeScriptTypes.function(of: operation))(\(OperationTable.arguments(of: operation)));")
            writer.line("```")
        }
        return writer.text
    }
}

/// The variables of an operation, as READMEs show them.
enum OperationTable {
    /// `{ id, title }` with the required variables; empty without any.
    static func arguments(of operation: OperationDescription) -> String {
        let names = operation.requiredVariables.map(\.name)
        return names.isEmpty ? "" : "{ \(names.joined(separator: ", ")) }"
    }

    static func describe(_ operation: OperationDescription, in writer: inout CodeWriter) {
        guard !operation.variables.isEmpty else { return }
        writer.line("| variable | type | |")
        writer.line("| --- | --- | --- |")
        for variable in operation.variables {
            let type = TypeScriptTypes.text(variable.type).replacing("|", with: "\\|")
            writer.line(
                "| `\(variable.name)` | `\(type)` | \(variable.isRequired ? "required" : "optional") |")
        }
        writer.line()
    }
}
