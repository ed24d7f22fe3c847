/// Prints the operations of a connector with the names of Firebase's SDK, for `FreshetFirebase`:
/// `DataConnect.moviesConnector.listMoviesQuery.ref(…)`. Source: docs/reference/generate.md.
struct FirebaseNames {
    let connector: ConnectorDescription
    /// The name of the connector's struct.
    let type: String
    /// The code of its `CacheSettings`.
    let cache: String
    let publisher: SwiftOptions.Publisher

    private var wrapper: String { Naming.pascal(connector.id) + "DataConnect" }

    /// The names of the operations' types, which must not be those of the operations themselves.
    private var names: [String] {
        var taken = Set(connector.operations.map(FreshetSwiftOperation.name))
        taken.formUnion([type, wrapper])
        return connector.operations.map { Naming.unique(SwiftOperation.name(of: $0), &taken) }
    }

    var file: String {
        var writer = CodeWriter(indentation: 4)
        writer.line(SwiftText.header(connector))
        let hasUUIDs = connector.operations.contains { operation in
            operation.variables.contains { $0.type.contains(SwiftText.isUUID) }
        }
        if hasUUIDs { writer.line("public import Foundation") }
        writer.line("public import FreshetClient")
        writer.line("public import FreshetFirebase")
        writer.line()
        writer.block("extension DataConnect {") { writer in
            writer.line("/// The connector `\(connector.id)` of the service `\(connector.serviceID)`.")
            writer.line("public static let \(Naming.lowerFirst(type)) = \(wrapper)(")
            writer.line("    link: DataConnect.link(\(type).identity, cache: \(cache)))")
        }
        writer.line()
        let names = names
        writer.line("/// The connector `\(connector.id)` with the names of Firebase's SDK.")
        writer.block("public struct \(wrapper): DataConnectConnector {") { writer in
            writer.line("public let link: ConnectorLink")
            writer.line()
            writer.line("public init(link: ConnectorLink) { self.link = link }")
            if !names.isEmpty { writer.line() }
            for (operation, name) in zip(connector.operations, names) {
                if operation.kind == .query, let availability { writer.line(availability) }
                writer.line("public var \(Naming.lowerFirst(name)): \(name) { \(name)(link: self.link) }")
            }
        }
        for (operation, name) in zip(connector.operations, names) {
            writer.line()
            declare(operation, name, in: &writer)
        }
        return writer.text
    }

    /// The systems with `@Observable`; nil if query refs do not need it.
    private var availability: String? {
        switch publisher {
        case .observableMacro: "@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)"
        case .observableObject: nil
        }
    }

    private var queryRef: String {
        switch publisher {
        case .observableMacro: "QueryRefObservation"
        case .observableObject: "QueryRefObservableObject"
        }
    }

    private func declare(_ operation: OperationDescription, _ name: String, in writer: inout CodeWriter) {
        let stored = FreshetSwiftOperation.name(of: operation)
        let printer = FreshetSwiftOperation(operation: operation, connector: type)
        let isQuery = operation.kind == .query
        writer.documentation(
            operation.documentation ?? "The \(operation.kind.rawValue) `\(operation.name)`.", prefix: "/// ")
        if isQuery, let availability { writer.line(availability) }
        writer.block("public struct \(name): Sendable {") { writer in
            writer.line("public typealias Ref = \(isQuery ? queryRef : "MutationRef")<\(stored)>")
            writer.line()
            writer.line("let link: ConnectorLink")
            writer.line()
            let parameters = printer.variables.map(\.parameter)
            let arguments = printer.variables.map { "\($0.member.name): \(SwiftText.name($0.member.name))" }
            if isQuery { writer.line("@MainActor") }
            writer.block(writer.wrapping("public func ref(", parameters, ") -> Ref {")) { writer in
                let call = "\(type)(link: self.link).\(FreshetSwiftOperation.function(of: operation))"
                writer.line(writer.wrapping("let namedOperation = \(call)(", arguments, ")"))
                writer.line("return Ref(namedOperation)")
            }
            writer.line()
            if isQuery { writer.line("@MainActor") }
            writer.line("@discardableResult")
            let policy = isQuery ? ["fetchPolicy: QueryFetchPolicy = .preferCache"] : []
            let result = isQuery ? "OperationResult" : "MutationOperationResult"
            writer.block(
                writer.wrapping(
                    "public func execute(", parameters + policy, ") async throws -> \(result)<\(stored).Data> {")
            ) { writer in
                let policy = isQuery ? "fetchPolicy: fetchPolicy" : ""
                writer.line(writer.wrapping("let operationRef = self.ref(", arguments, ")"))
                writer.line("return try await operationRef.execute(\(policy))")
            }
        }
    }
}
