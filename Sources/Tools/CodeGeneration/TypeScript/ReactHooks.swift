/// Hooks of React for a connector, over `@tanstack-query-firebase/react`: `useListMovies`.
struct ReactHooks {
    let connector: ConnectorDescription
    let options: JavaScriptOptions

    private static let library = "@tanstack-query-firebase/react/data-connect"

    var files: [GeneratedFile] {
        [
            GeneratedFile("react/esm/index.esm.js", script(.ecmaScript)),
            GeneratedFile("react/esm/package.json", "{\"type\": \"module\"}\n"),
            GeneratedFile("react/index.cjs.js", script(.commonJS)),
            GeneratedFile("react/index.d.ts", declarations),
            GeneratedFile("react/package.json", SubpackageManifest.text(options.package, "react", connector.id)),
        ]
    }

    private func script(_ format: ModuleFormat) -> String {
        var writer = CodeWriter(indentation: 2)
        writer.line(JavaScriptHeader.text(connector))
        guard !connector.operations.isEmpty else {
            if format == .ecmaScript { writer.line("export {};") }
            return writer.text
        }
        let main = format == .commonJS ? "../index.cjs.js" : "../../esm/index.esm.js"
        let references = connector.operations.map { TypeScriptTypes.function(of: $0) + "Ref" }
        writer.line(format.importing(references + ["connectorConfig"], from: main))
        let validation = connector.hasMutations ? ["validateArgs"] : []
        writer.line(format.importing(["CallerSdkTypeEnum"] + validation, from: "firebase/data-connect"))
        var names: [String] = []
        if connector.hasMutations { names.append("useDataConnectMutation") }
        if connector.hasQueries { names += ["useDataConnectQuery", "validateReactArgs"] }
        writer.line(format.importing(names, from: Self.library))
        for operation in connector.operations {
            writer.line()
            hook(operation, format, &writer)
        }
        return writer.text
    }

    private static func name(of operation: OperationDescription) -> String { "use" + Naming.upperFirst(operation.name) }

    private func hook(_ operation: OperationDescription, _ format: ModuleFormat, _ writer: inout CodeWriter) {
        let name = Self.name(of: operation)
        let reference = TypeScriptTypes.function(of: operation) + "Ref"
        let hasVariables = !operation.variables.isEmpty
        switch operation.kind {
        case .query:
            let parameters = hasVariables ? "dcOrVars, varsOrOptions, options" : "dcOrOptions, options"
            writer.block(format.function(name, parameters)) { writer in
                let isRequired = !operation.requiredVariables.isEmpty
                writer.line(
                    "const { dc: dcInstance,\(hasVariables ? " vars: inputVars," : "") options: inputOpts } =")
                writer.line(
                    "  validateReactArgs(connectorConfig, \(parameters)\(hasVariables ? ", true, \(isRequired)" : ""));"
                )
                writer.line("const ref = \(reference)(dcInstance\(hasVariables ? ", inputVars" : ""));")
                writer.line("return useDataConnectQuery(ref, inputOpts, CallerSdkTypeEnum.GeneratedReact);")
            }
        case .mutation:
            writer.block(format.function(name, "dcOrOptions, options")) { writer in
                writer.line(
                    "const { dc: dcInstance, vars: inputOpts } = validateArgs(connectorConfig, dcOrOptions, options);")
                writer.block("function refFactory(\(hasVariables ? "vars" : "")) {") { writer in
                    writer.line("return \(reference)(dcInstance\(hasVariables ? ", vars" : ""));")
                }
                writer.line("return useDataConnectMutation(refFactory, inputOpts, CallerSdkTypeEnum.GeneratedReact);")
            }
        }
        format.export(name, in: &writer)
    }

    private var declarations: String {
        var writer = CodeWriter(indentation: 2)
        writer.line(JavaScriptHeader.text(connector))
        guard !connector.operations.isEmpty else {
            writer.line("export {};")
            return writer.text
        }
        writer.line(ImportedTypes.text(of: connector))
        var names: [String] = []
        if connector.hasMutations { names += ["UseDataConnectMutationResult", "useDataConnectMutationOptions"] }
        if connector.hasQueries { names += ["UseDataConnectQueryResult", "useDataConnectQueryOptions"] }
        writer.line(writer.braces("import", names, "from '\(Self.library)';"))
        writer.line("import { DataConnect } from 'firebase/data-connect';")
        if connector.hasMutations { writer.line("import { FirebaseError } from 'firebase/app';") }
        for operation in connector.operations {
            writer.line()
            let types = Signature(operation)
            let name = Self.name(of: operation)
            JavaScriptHeader.documentation(of: operation, in: &writer)
            for dc in [false, true] {
                let parameters: String
                let result: String
                switch operation.kind {
                case .query:
                    parameters = types.parameters(["options?: useDataConnectQueryOptions<\(types.data)>"], dc: dc)
                    result = "UseDataConnectQueryResult<\(types.data), \(types.variables)>"
                case .mutation:
                    let argument =
                        !types.hasVariables ? "void" : types.isRequired ? types.variables : "\(types.variables) | void"
                    let options = "options?: useDataConnectMutationOptions<\(types.data), FirebaseError, \(argument)>"
                    parameters = dc ? "dc: DataConnect, \(options)" : options
                    result = "UseDataConnectMutationResult<\(types.data), \(types.variables)>"
                }
                writer.line("export function \(name)(\(parameters)): \(result);")
            }
        }
        return writer.text
    }
}

/// The import of all results and variables from the main declarations.
enum ImportedTypes {
    static func text(of connector: ConnectorDescription) -> String {
        let names = connector.operations.flatMap { operation in
            [TypeScriptTypes.data(of: operation)]
                + (operation.variables.isEmpty ? [] : [TypeScriptTypes.variables(of: operation)])
        }
        return CodeWriter(indentation: 2).braces("import", names, "from '../';")
    }
}
