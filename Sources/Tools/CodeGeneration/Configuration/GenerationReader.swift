package import SchemaModel

/// Reads `generate:` of a `connector.yaml`. Each SDK may be one mapping or a list of them.
///
///     generate:
///       javascriptSdk: {outputDir: ../../web/src/generated, package: "@app/movies", react: true}
///       swiftSdk: [{outputDir: ../../ios, package: Movies}]
package enum GenerationReader {
    /// The most outputs of one target.
    static let outputsMax = 16

    /// Returns the outputs that are asked for, in the order of `GenerationTarget`. Reports every problem with its
    /// place.
    package static func read(
        _ generate: ConfigurationNode?, connectorID: String, in file: SourceFile, sink: inout DiagnosticSink
    ) -> [GenerationRequest] {
        guard let generate else { return [] }
        var reader = ConfigurationReader(generate, path: "generate", in: file, sink: &sink)
        guard case .mapping = generate.kind else { return [] }
        var requests: [GenerationRequest] = []
        for target in GenerationTarget.allCases {
            guard let node = reader.node(target.key) else { continue }
            var items = [node]
            if case .sequence(let list) = node.kind { items = list }
            if items.count > outputsMax {
                sink.report(
                    .error, rule: .configurationValue, at: node, in: file,
                    "\"generate.\(target.key)\" has more than \(outputsMax) entries")
                continue
            }
            for (number, item) in items.enumerated() {
                let path = "generate.\(target.key)" + (items.count > 1 ? "[\(number)]" : "")
                guard case .mapping = item.kind else {
                    sink.report(
                        .error, rule: .configurationType, at: item, in: file,
                        "\"\(path)\" must be a mapping, but is \(item.kindName)")
                    continue
                }
                var section = Section(
                    reader: ConfigurationReader(item, path: path, in: file, sink: &sink), node: item, path: path)
                let output = section.text(target == .tools ? "outputFile" : "outputDir", &sink)
                let options = section.options(of: target, connectorID: connectorID, &sink)
                section.reader.finish(sink: &sink)
                guard let output, let options else { continue }
                requests.append(
                    GenerationRequest(
                        connectorID: connectorID, target: target, number: number, output: output.text, options: options,
                        node: output.node, file: file))
            }
        }
        reader.finish(sink: &sink)
        return requests
    }
}

/// The mapping of one output.
private struct Section {
    var reader: ConfigurationReader
    let node: ConfigurationNode
    let path: String

    mutating func text(_ key: String, _ sink: inout DiagnosticSink) -> (text: String, node: ConfigurationNode)? {
        guard let text = reader.text(key, isRequired: true, sink: &sink) else { return nil }
        return (text, reader.node(key) ?? node)
    }

    mutating func options(
        of target: GenerationTarget, connectorID: String, _ sink: inout DiagnosticSink
    ) -> GenerationRequest.Options? {
        switch target {
        case .typescript, .adminNode:
            guard let name = name("package", "an npm package name", &sink, PackageNames.isNPM) else { return nil }
            var options = JavaScriptOptions(package: name)
            options.packageJSONFolder = reader.text("packageJsonDir", sink: &sink)
            if target == .adminNode { return .adminNode(options) }
            options.hasReact = flag("react", &sink)
            options.hasAngular = flag("angular", &sink)
            options.cache = cache(&sink)
            if options.cache?.storage == .persistent {
                sink.report(
                    .warning, rule: .configurationValue, at: reader.node("clientCache") ?? node, in: reader.file,
                    "browsers have no persistent cache: \"\(path).clientCache.storage\" counts as memory")
            }
            return .typescript(options)
        case .swift:
            guard let name = name("package", "a name of letters, digits and _", &sink, PackageNames.isIdentifier)
            else { return nil }
            var options = SwiftOptions(package: name)
            options.publisher = choice("observablePublisher", &sink) ?? options.publisher
            options.flavor = choice("flavor", &sink) ?? options.flavor
            options.sdk = reader.text("sdk", sink: &sink)
            options.hasFirebaseNames = flag("firebaseNames", &sink)
            options.cache = cache(&sink)
            return .swift(options)
        case .kotlin:
            guard let name = name("package", "a package such as com.example.movies", &sink, PackageNames.isKotlin)
            else { return nil }
            return .kotlin(package: name, cache(&sink))
        case .dart:
            guard let name = name("package", "a library name or a .dart file", &sink, PackageNames.isDart) else {
                return nil
            }
            return .dart(package: name, cache(&sink))
        case .tools: return .tools
        }
    }

    private mutating func name(
        _ key: String, _ description: String, _ sink: inout DiagnosticSink, _ isValid: (String) -> Bool
    ) -> String? {
        guard let (name, place) = text(key, &sink) else { return nil }
        if isValid(name) { return name }
        sink.report(
            .error, rule: .configurationValue, at: place, in: reader.file,
            "\"\(path).\(key)\" is \"\(name)\", but must be \(description)")
        return nil
    }

    private mutating func flag(_ key: String, _ sink: inout DiagnosticSink) -> Bool {
        guard let text = reader.text(key, sink: &sink), let place = reader.node(key) else { return false }
        switch text.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default:
            sink.report(
                .error, rule: .configurationValue, at: place, in: reader.file,
                "\"\(path).\(key)\" is \"\(text)\", allowed is true, false")
            return false
        }
    }

    private mutating func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ key: String, _ sink: inout DiagnosticSink
    ) -> Choice? {
        Self.choice(key, of: &reader, path, &sink)
    }

    private static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ key: String, of reader: inout ConfigurationReader, _ path: String, _ sink: inout DiagnosticSink
    ) -> Choice? {
        guard let text = reader.text(key, sink: &sink), let place = reader.node(key) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        sink.report(
            .error, rule: .configurationValue, at: place, in: reader.file,
            "\"\(path).\(key)\" is \"\(text)\", allowed is \(names)")
        return nil
    }

    private mutating func cache(_ sink: inout DiagnosticSink) -> ClientCache? {
        guard let value = reader.node("clientCache") else { return nil }
        if let text = value.scalar {
            if text == "false" { return nil }
            if text == "true" { return ClientCache() }
        }
        let path = "\(path).clientCache"
        var entries = ConfigurationReader(value, path: path, in: reader.file, sink: &sink)
        guard case .mapping = value.kind else { return nil }
        var cache = ClientCache()
        if let text = entries.text("maxAge", sink: &sink) {
            if let ms = ClientCache.milliseconds(text) {
                cache.maxAgeMs = ms
            } else {
                sink.report(
                    .error, rule: .configurationValue, at: entries.node("maxAge") ?? value, in: reader.file,
                    "\"\(path).maxAge\" is \"\(text)\", but must be a duration such as 0, 30s or 1h30m")
            }
        }
        cache.storage = Self.choice("storage", of: &entries, path, &sink)
        // The SDKs do not bound their caches.
        entries.ignore("maxSize")
        entries.finish(sink: &sink)
        return cache
    }
}

/// The rules for names of packages.
enum PackageNames {
    /// `movies`, `@app/movies`.
    static func isNPM(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard name.utf8.count <= 214, parts.count == (name.hasPrefix("@") ? 2 : 1) else { return false }
        return parts.allSatisfy { part in
            let rest = part.hasPrefix("@") && part.startIndex == name.startIndex ? part.dropFirst() : part
            return !rest.isEmpty && rest.first != "." && rest.first != "_"
                && rest.utf8.allSatisfy { isAlphanumeric($0) || [0x2D, 0x2E, 0x5F, 0x7E].contains($0) }
        }
    }

    /// Letters, digits and `_`, without a digit in front.
    static func isIdentifier(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy { isAlphanumeric($0) || $0 == 0x5F }
    }

    static func isKotlin(_ name: String) -> Bool {
        name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isIdentifier)
    }

    /// `movies_data`, `movies_data/generated.dart`, `generated.dart`.
    static func isDart(_ name: String) -> Bool {
        let path = name.hasSuffix(".dart") ? name.dropLast(5) : name[...]
        return path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy(isIdentifier)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
}
