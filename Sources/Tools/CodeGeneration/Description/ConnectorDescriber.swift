package import Catalog
import GraphQLLanguage
import LiveModel
import Operations
package import SchemaModel
import SchemaSDL

/// Describes the connectors of a compiled project for client code.
package struct ConnectorDescriber {
    private let catalog: Catalog
    private let types: GraphQLTypes

    package init(_ catalog: Catalog) {
        self.catalog = catalog
        types = GraphQLTypes(catalog.graphQLSchema.document)
    }

    /// - Parameter source: the connector's files, which say the order of the operations.
    /// - Returns: nil if the catalog has no such connector. Operations that did not compile are left out.
    package func describe(_ source: ConnectorSource) -> ConnectorDescription? {
        guard let connector = catalog.connectors[source.id] else { return nil }
        var inputs = InputCollector(types)
        var operations: [OperationDescription] = []
        for (definition, documentation) in Self.definitions(of: source) {
            guard let name = definition.name?.value, let stored = connector.operations[name] else { continue }
            operations.append(describe(stored, definition, documentation, &inputs))
        }
        var enums = catalog.schema.enums.values.map { EnumDescription(name: $0.typeName, values: $0.values) }
        var used: Set<String> = []
        let keys = keys
        func note(_ type: ValueType) {
            _ = type.contains { inner in
                if case .enumeration(let name) = inner { used.insert(name) }
                return false
            }
        }
        for operation in operations {
            operation.variables.forEach { note($0.type) }
            operation.result.fields.forEach { note($0.type) }
        }
        inputs.found.values.forEach { $0.fields.forEach { note($0.type) } }
        for name in used where catalog.schema.enums[name] == nil {
            enums.append(EnumDescription(name: name, values: types.enums[name] ?? []))
        }
        let versions = connector.operations.values.sorted { $0.reference < $1.reference }
            .map { "\($0.reference) \($0.version.hex)" }
        return ConnectorDescription(
            serviceID: catalog.serviceID, location: catalog.location, id: connector.id,
            revision: String(Digest(of: versions.joined(separator: "\n").utf8).hex.prefix(16)),
            operations: operations, keys: keys,
            enums: enums.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) },
            inputs: inputs.found.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    private var keys: [KeyDescription] {
        catalog.schema.tables
            .map { table in
                KeyDescription(
                    typeName: table.typeName,
                    fields: table.keyColumns.map { column in
                        .init(name: column.field, type: types.valueType(column.type.typeText))
                    })
            }
            .sorted { $0.typeName.utf8.lexicographicallyPrecedes($1.typeName.utf8) }
    }

    private func describe(
        _ stored: StoredOperation, _ definition: OperationDefinition, _ documentation: String?,
        _ inputs: inout InputCollector
    ) -> OperationDescription {
        let reader = SelectionReader(types: types, schema: catalog.schema, stored: stored)
        return OperationDescription(
            name: stored.reference.operation, kind: stored.kind == .query ? .query : .mutation,
            documentation: documentation, accessLevel: stored.auth.level?.rawValue, isRefreshed: stored.isRefreshed,
            revision: String(stored.version.hex.prefix(16)),
            variables: stored.variables.map { variable in
                VariableDescription(
                    name: variable.name, type: inputs.type(of: variable, in: stored.reference.operation),
                    isNullable: !variable.type.isNonNull, isRequired: variable.isRequired,
                    documentation: definition.variables.first { $0.name.value == variable.name }?.description?.value)
            },
            result: reader.result)
    }

    /// Returns the operations in file order, with what is written about them.
    private static func definitions(of source: ConnectorSource) -> [(OperationDefinition, String?)] {
        source.files.flatMap { file -> [(OperationDefinition, String?)] in
            guard let document = try? Parser.parseDocument(file.source) else { return [] }
            return document.operations.map { operation in
                (operation, operation.description?.value ?? comment(above: operation.range.start, in: file))
            }
        }
    }

    /// Returns the text of the comment lines that end directly above an offset; nil without any. Lines that
    /// `# freshet:` begins are settings.
    private static func comment(above offset: Int, in file: SourceFile) -> String? {
        let before = String(decoding: file.source.bytes.prefix(offset), as: UTF8.self)
        var lines = before.split(separator: "\n", omittingEmptySubsequences: false)
        // What precedes the operation on its own line.
        if let last = lines.popLast(), !last.allSatisfy(\.isWhitespace) { return nil }
        var comment: [Substring] = []
        while let line = lines.popLast()?.drop(while: \.isWhitespace), line.first == "#" {
            let text = line.drop { $0 == "#" }.drop(while: \.isWhitespace)
            if !text.hasPrefix("freshet:") { comment.insert(text, at: 0) }
        }
        let text = comment.joined(separator: "\n")
        return text.allSatisfy(\.isWhitespace) ? nil : text
    }
}
