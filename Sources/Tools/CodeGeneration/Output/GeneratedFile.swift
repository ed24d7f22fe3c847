/// A file of generated code.
package struct GeneratedFile: Sendable, Hashable {
    /// Relative to the output's folder, with `/`.
    package var path: String
    package var text: String

    package init(_ path: String, _ text: String) {
        self.path = path
        self.text = text
    }
}

/// Prints what a request asks for.
package enum CodePrinter {
    /// - Returns: files in a fixed order. For `llmTools`, one file whose path is empty: the output is the file itself.
    package static func files(
        for request: GenerationRequest, _ connector: ConnectorDescription
    ) -> [GeneratedFile] {
        switch request.options {
        case .typescript(let options): TypeScriptPackage(connector: connector, options: options).files
        case .adminNode(let options): AdminNodePackage(connector: connector, options: options).files
        case .swift(let options):
            switch options.flavor {
            case .freshet: FreshetSwiftPackage(connector: connector, options: options).files
            case .firebase: FirebaseSwiftPackage(connector: connector, options: options).files
            }
        case .kotlin(let package, let cache): KotlinPackage(connector: connector, package: package, cache: cache).files
        case .dart(let package, let cache): DartPackage(connector: connector, package: package, cache: cache).files
        case .tools: [GeneratedFile("", ToolDefinitions(connector).text)]
        }
    }
}
