/// Injection functions of Angular for a connector, over `@tanstack-query-firebase/angular`: `injectListMovies`.
struct AngularInjectors {
    let connector: ConnectorDescription
    let options: JavaScriptOptions

    private static let library = "@tanstack-query-firebase/angular/data-connect"
    private static let caller = "CallerSdkTypeEnum.GeneratedAngular"

    var files: [GeneratedFile] {
        [
            GeneratedFile("angular/esm/index.esm.js", script(.ecmaScript)),
            GeneratedFile("angular/esm/package.json", "{\"type\": \"module\"}\n"),
            GeneratedFile("angular/index.cjs.js", script(.commonJS)),
            GeneratedFile("angular/index.d.ts", declarations),
            GeneratedFile("angular/package.json", SubpackageManifest.text(options.package, "angular", connector.id)),
        ]
    }

    private static func name(of operation: OperationDescription) -> String {
        "inject" + Naming.upperFirst(operation.name)
    }

    private func script(_ format: ModuleFormat) -> String {
        var writer = CodeWriter(indentation: 2)
        writer.line(JavaScriptHeader.text(connector))
        guard !connector.operations.isEmpty else {
            if format == .ecmaScript { writer.line("export {};") }
            return writer.text
        }
        let references = connector.operations.map { TypeScriptTypes.function(of: $0) + "Ref" }
        writer.line(format.importing(references, from: format == .commonJS ? "../" : "../../esm/index.esm.js"))
        writer.line(
            format.importing(
                ["CallerSdkTypeEnum"] + (connector.hasQueries ? ["DataConnect"] : []),
                from: "@angular/fire/data-connect"))
        var names: [String] = []
        if connector.hasMutations { names.append("injectDataConnectMutation") }
        if connector.hasQueries { names.append("injectDataConnectQuery") }
        writer.line(format.importing(names, from: Self.library))
        if connector.hasQueries {
            writer.line(format.importing(["EnvironmentInjector", "inject"], from: "@angular/core"))
        }
        for operation in connector.operations {
            writer.line()
            injector(operation, format, &writer)
        }
        return writer.text
    }

    private func injector(_ operation: OperationDescription, _ format: ModuleFormat, _ writer: inout CodeWriter) {
        let name = Self.name(of: operation)
        let reference = TypeScriptTypes.function(of: operation) + "Ref"
        let hasVariables = !operation.variables.isEmpty
        switch operation.kind {
        case .query:
            writer.block(format.function(name, hasVariables ? "args, options, injector" : "options, injector")) {
                writer in
                writer.line("const finalInjector = injector || inject(EnvironmentInjector);")
                writer.line("const dc = finalInjector.get(DataConnect);")
                if hasVariables {
                    writer.line("const varsFactory = typeof args === 'function' ? args : () => args;")
                }
                writer.block("return injectDataConnectQuery(() => ({", "}), finalInjector, \(Self.caller));") {
                    writer in
                    writer.line("queryFn: () => \(reference)(dc\(hasVariables ? ", varsFactory()" : "")),")
                    writer.line("...(options && options()),")
                }
            }
        case .mutation:
            writer.block(format.function(name, "args, injector")) { writer in
                writer.line("return injectDataConnectMutation(\(reference), args, injector, \(Self.caller));")
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
        if connector.hasMutations {
            names += ["CreateDataConnectMutationResult", "DataConnectMutationOptionsUndefinedMutationFn"]
        }
        if connector.hasQueries { names += ["CreateDataConnectQueryOptions", "CreateDataConnectQueryResult"] }
        writer.line(writer.braces("import", names, "from '\(Self.library)';"))
        if connector.hasMutations { writer.line("import { FirebaseError } from 'firebase/app';") }
        writer.line("import { Injector } from '@angular/core';")
        for operation in connector.operations {
            writer.line()
            declare(operation, in: &writer)
        }
        return writer.text
    }

    private func declare(_ operation: OperationDescription, in writer: inout CodeWriter) {
        let types = Signature(operation)
        let name = Naming.upperFirst(operation.name)
        switch operation.kind {
        case .query:
            if types.hasVariables {
                writer.line("type \(name)Args = \(types.variables) | (() => \(types.variables));")
            }
            let options = "CreateDataConnectQueryOptions<\(types.data), \(types.variables)>"
            writer.line("export type \(name)Options = () => Omit<\(options), 'queryFn'>;")
            let arguments = types.hasVariables ? "args\(types.isRequired ? "" : "?"): \(name)Args, " : ""
            JavaScriptHeader.documentation(of: operation, in: &writer)
            writer.line(
                "export function inject\(name)(\(arguments)options?: \(name)Options, injector?: Injector):"
                    + " CreateDataConnectQueryResult<\(types.data), \(types.variables)>;")
        case .mutation:
            writer.line(
                "type \(name)Options ="
                    + " DataConnectMutationOptionsUndefinedMutationFn"
                    + "<\(types.data), FirebaseError, \(types.variables)>;"
            )
            JavaScriptHeader.documentation(of: operation, in: &writer)
            writer.line(
                "export function inject\(name)(options?: \(name)Options, injector?: Injector):"
                    + " CreateDataConnectMutationResult<\(types.data), \(types.variables), \(types.variables)>;")
        }
    }
}
