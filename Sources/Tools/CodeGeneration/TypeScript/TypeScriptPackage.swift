import JSON

/// The npm package of a connector for the web SDK `firebase/data-connect`, whose functions it calls.
///
/// Source of its shape: docs/reference/generate.md; the names and types are those of Firebase's generator.
struct TypeScriptPackage {
    let connector: ConnectorDescription
    let options: JavaScriptOptions

    var files: [GeneratedFile] {
        var files = [
            GeneratedFile("README.md", JavaScriptReadme(connector: connector, options: options).text),
            GeneratedFile("esm/index.esm.js", script(.ecmaScript)),
            GeneratedFile("esm/package.json", "{\"type\": \"module\"}\n"),
            GeneratedFile("index.cjs.js", script(.commonJS)),
            GeneratedFile("index.d.ts", declarations),
            GeneratedFile("package.json", manifest),
        ]
        if options.hasReact { files += ReactHooks(connector: connector, options: options).files }
        if options.hasAngular { files += AngularInjectors(connector: connector, options: options).files }
        return files.sorted { $0.path < $1.path }
    }

    // MARK: JavaScript

    private func script(_ format: ModuleFormat) -> String {
        var writer = CodeWriter(indentation: 2)
        var names: [String] = []
        if connector.hasQueries { names += ["executeQuery", "queryRef"] }
        if connector.hasMutations { names += ["executeMutation", "mutationRef"] }
        if options.cache != nil { names.append("makeMemoryCacheProvider") }
        if !connector.operations.isEmpty { names.append("validateArgs") }
        if connector.hasQueries { names.append("validateArgsWithOptions") }
        writer.line(JavaScriptHeader.text(connector))
        if !names.isEmpty { writer.line(format.importing(names.sorted(), from: "firebase/data-connect")) }
        writer.line()
        for type in connector.enums {
            writer.block("\(format.constant(type.name)) {", "};") { writer in
                for value in type.values { writer.line("\(value): \"\(value)\",") }
            }
            format.export(type.name, in: &writer)
            writer.line()
        }
        writer.block("\(format.constant("connectorConfig")) {", "};") { writer in
            writer.line("connector: '\(connector.id)',")
            writer.line("service: '\(connector.serviceID)',")
            writer.line("location: '\(connector.location)',")
        }
        format.export("connectorConfig", in: &writer)
        if let cache = options.cache {
            writer.line()
            writer.block("\(format.constant("dataConnectSettings")) {", "};") { writer in
                writer.block("cacheSettings: {", "},") { writer in
                    writer.line("cacheProvider: makeMemoryCacheProvider(),")
                    if cache.maxAgeMs > 0 { writer.line("maxAgeSeconds: \(cache.maxAgeText(unitMs: 1_000)),") }
                }
            }
            format.export("dataConnectSettings", in: &writer)
        }
        for operation in connector.operations {
            writer.line()
            reference(operation, format, &writer)
            writer.line()
            action(operation, format, &writer)
        }
        return writer.text
    }

    private func reference(_ operation: OperationDescription, _ format: ModuleFormat, _ writer: inout CodeWriter) {
        let name = TypeScriptTypes.function(of: operation) + "Ref"
        let constructor = operation.kind == .query ? "queryRef" : "mutationRef"
        let hasVariables = !operation.variables.isEmpty
        writer.block("\(format.constant(name)) (\(hasVariables ? "dcOrVars, vars" : "dc")) => {", "};") { writer in
            if hasVariables {
                let required = operation.requiredVariables.isEmpty ? "" : ", true"
                writer.line(
                    "const { dc: dcInstance, vars: inputVars } ="
                        + " validateArgs(connectorConfig, dcOrVars, vars\(required));")
            } else {
                writer.line("const { dc: dcInstance } = validateArgs(connectorConfig, dc, undefined);")
            }
            writer.line("dcInstance._useGeneratedSdk();")
            writer.line("return \(constructor)(dcInstance, '\(operation.name)'\(hasVariables ? ", inputVars" : ""));")
        }
        writer.line("\(name).operationName = '\(operation.name)';")
        format.export(name, in: &writer)
    }

    private func action(_ operation: OperationDescription, _ format: ModuleFormat, _ writer: inout CodeWriter) {
        let name = TypeScriptTypes.function(of: operation)
        let hasVariables = !operation.variables.isEmpty
        let isRequired = !operation.requiredVariables.isEmpty
        switch operation.kind {
        case .query:
            let parameters = hasVariables ? "dcOrVars, varsOrOptions, options" : "dcOrOptions, options"
            writer.block(format.function(name, parameters)) { writer in
                writer.line("const { dc: dcInstance, vars: inputVars, options: inputOpts } =")
                writer.line(
                    "  validateArgsWithOptions(connectorConfig, \(parameters)\(hasVariables ? "" : ", undefined"),"
                        + " \(hasVariables), \(isRequired));")
                writer.line("const ref = \(name)Ref(dcInstance\(hasVariables ? ", inputVars" : ""));")
                writer.line("return executeQuery(ref, inputOpts && { fetchPolicy: inputOpts.fetchPolicy });")
            }
        case .mutation:
            writer.block(format.function(name, hasVariables ? "dcOrVars, vars" : "dc")) { writer in
                writer.line("return executeMutation(\(name)Ref(\(hasVariables ? "dcOrVars, vars" : "dc")));")
            }
        }
        format.export(name, in: &writer)
    }

    // MARK: Declarations

    private var declarations: String {
        var writer = CodeWriter(indentation: 2)
        var names = ["ConnectorConfig"]
        if !connector.operations.isEmpty { names.append("DataConnect") }
        if options.cache != nil { names.append("DataConnectSettings") }
        if connector.hasQueries { names += ["ExecuteQueryOptions", "QueryPromise", "QueryRef"] }
        if connector.hasMutations { names += ["MutationPromise", "MutationRef"] }
        writer.line(JavaScriptHeader.text(connector))
        writer.line(writer.braces("import", names.sorted(), "from 'firebase/data-connect';"))
        writer.line()
        writer.line("export const connectorConfig: ConnectorConfig;")
        if options.cache != nil { writer.line("export const dataConnectSettings: DataConnectSettings;") }
        writer.line()
        TypeScriptTypes.aliases.forEach { writer.line($0) }
        writer.line()
        TypeScriptTypes(connector: connector).declare(in: &writer)
        for operation in connector.operations { declare(operation, in: &writer) }
        return writer.text
    }

    private func declare(_ operation: OperationDescription, in writer: inout CodeWriter) {
        let name = TypeScriptTypes.function(of: operation)
        let kind = operation.kind == .query ? "Query" : "Mutation"
        let types = Signature(operation)
        let reference = "\(kind)Ref<\(types.data), \(types.variables)>"
        let promise = "\(kind)Promise<\(types.data), \(types.variables)>"
        let type = Naming.upperFirst(operation.name) + "Ref"
        writer.block("interface \(type) {") { writer in
            writer.line("(\(types.parameters([]))): \(reference);")
            writer.line("/** With a `DataConnect` instance of the app's choice. */")
            writer.line("(\(types.parameters([], dc: true))): \(reference);")
            writer.line("operationName: string;")
        }
        writer.line("export const \(name)Ref: \(type);")
        writer.line()
        let options = operation.kind == .query ? ["options?: ExecuteQueryOptions"] : []
        JavaScriptHeader.documentation(of: operation, in: &writer)
        writer.line("export function \(name)(\(types.parameters(options))): \(promise);")
        writer.line("export function \(name)(\(types.parameters(options, dc: true))): \(promise);")
        writer.line()
    }

    // MARK: package.json

    private var manifest: String {
        var exports: JSONObject = [
            ".": ["types": "./index.d.ts", "require": "./index.cjs.js", "default": "./esm/index.esm.js"]
        ]
        var peers: JSONObject = ["firebase": .string(Self.firebaseVersion)]
        for (folder, isAsked) in [("angular", options.hasAngular), ("react", options.hasReact)] where isAsked {
            exports["./\(folder)"] = [
                "types": .string("./\(folder)/index.d.ts"), "require": .string("./\(folder)/index.cjs.js"),
                "import": .string("./\(folder)/esm/index.esm.js"), "default": .string("./\(folder)/esm/index.esm.js"),
            ]
        }
        if options.hasReact { peers["@tanstack-query-firebase/react"] = "^2.0.0" }
        if options.hasAngular {
            peers["@angular/fire"] = "^19.0.0 || ^20.0.0"
            peers["@tanstack-query-firebase/angular"] = "^1.0.0"
        }
        exports["./package.json"] = "./package.json"
        return PrettyJSON.text([
            "name": .string(options.package), "version": "1.0.0",
            "description": .string("Generated by Freshet for the connector \(connector.id)"),
            "engines": ["node": ">=18.0"], "typings": "index.d.ts", "module": "esm/index.esm.js",
            "main": "index.cjs.js", "browser": "esm/index.esm.js", "exports": .object(exports),
            "peerDependencies": .object(peers),
        ])
    }

    /// The first release with `validateArgsWithOptions` and subscriptions over the stream.
    static let firebaseVersion = "^12.12.0"
}

/// The types that an operation's functions have in common.
struct Signature {
    let data: String
    /// `undefined` without variables.
    let variables: String
    let hasVariables: Bool
    let isRequired: Bool

    init(_ operation: OperationDescription) {
        data = TypeScriptTypes.data(of: operation)
        hasVariables = !operation.variables.isEmpty
        variables = hasVariables ? TypeScriptTypes.variables(of: operation) : "undefined"
        isRequired = !operation.requiredVariables.isEmpty
    }

    /// `dc: DataConnect, vars: XVariables, …`
    func parameters(_ further: [String], dc: Bool = false) -> String {
        var list = dc ? ["dc: DataConnect"] : []
        if hasVariables { list.append("vars\(isRequired ? "" : "?"): \(variables)") }
        return (list + further).joined(separator: ", ")
    }
}

extension ClientCache {
    /// The age in units, with a fraction where needed: `5`, `0.5`.
    func maxAgeText(unitMs: Int) -> String {
        maxAgeMs % unitMs == 0 ? "\(maxAgeMs / unitMs)" : "\(Double(maxAgeMs) / Double(unitMs))"
    }
}

/// The comments of generated JavaScript and TypeScript.
enum JavaScriptHeader {
    static func text(_ connector: ConnectorDescription) -> String {
        "// Generated by `freshet generate` from the connector \(connector.id). Changes are lost with the next run."
    }

    static func documentation(of operation: OperationDescription, in writer: inout CodeWriter) {
        let text = operation.documentation?.replacing("*/", with: "* /")
        guard let text else {
            writer.line("/** Runs the \(operation.kind.rawValue) `\(operation.name)`. */")
            return
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.count == 1 {
            writer.line("/** \(lines[0].trimmingSpaces) */")
        } else {
            writer.line("/**")
            for line in lines { writer.line(" * \(line.trimmingSpaces)".trimmingEnd) }
            writer.line(" */")
        }
    }
}
