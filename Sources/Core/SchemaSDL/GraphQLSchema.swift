package import GraphQLLanguage
package import Operations
package import SchemaModel

/// The GraphQL schema that a project's schema generates, as editors, client generators and introspection see it.
///
/// It says what the compiler of operations accepts: fields and operators come from the same lists. Two rules cannot be
/// told in GraphQL: `_expr` inputs may not come from variables, and of some inputs exactly one field is to be given. The
/// key that a mutation gives is a scalar here, though this service also lets a selection stand below it.
package struct GraphQLSchema: Sendable {
    /// Directives, then what every project has, then enums, tables and views, then the roots.
    package let document: Document

    package init(_ schema: Schema) { self.init(schema, []) }

    package init(_ schema: Schema, _ resolvers: [ResolverSchema]) {
        let scalars = ScalarDefinitions(schema: schema)
        let roots = RootDefinitions(schema: schema)
        let root = SchemaDefinition(
            operationTypes: [
                OperationTypeDefinition(operation: .query, type: Name("Query")),
                OperationTypeDefinition(operation: .mutation, type: Name("Mutation")),
                OperationTypeDefinition(operation: .subscription, type: Name("Subscription")),
            ])
        var definitions: [Definition] = [.schema(root)]
        definitions += Prelude.definitions
        definitions += scalars.enums
        definitions += scalars.inputs
        definitions += (schema.tables + schema.views).flatMap {
            TableDefinitions(schema: schema, table: $0).definitions
        }
        definitions += resolvers.flatMap(\.definitions)
        let queries = roots.queries + resolvers.flatMap(\.queries)
        definitions += [
            .type("Query", queries),
            .type("Mutation", roots.mutations + resolvers.flatMap(\.mutations)),
            .type(
                "Subscription", queries, "Stored queries, followed: a new result whenever it may have changed."),
        ]
        document = Document(definitions: definitions)
    }

    /// The names of all types, including the roots.
    package var typeNames: Set<String> { Set(document.definitions.compactMap { $0.name?.value }) }

    /// SDL.
    package var text: String { Printer.print(document) }
}
