package import GraphQLLanguage
package import Operations
package import SchemaModel

/// The GraphQL schema generated from a project's schema, for editors, client generators and introspection.
///
/// It describes what the operation compiler accepts, since both use the same lists of fields and operators. GraphQL
/// cannot express two rules: `_expr` inputs must not come from variables, and some inputs require exactly one field.
/// The key that a mutation returns is a scalar here, although this service also allows a selection on it.
package struct GraphQLSchema: Sendable {
    /// Directives, definitions common to all projects, enums, tables and views, and root types, in this order.
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
                "Subscription", queries, "Live queries: send a new result whenever it may have changed."),
        ]
        document = Document(definitions: definitions)
    }

    /// The names of all types, including the root types.
    package var typeNames: Set<String> { Set(document.definitions.compactMap { $0.name?.value }) }

    /// The schema in SDL.
    package var text: String { Printer.print(document) }
}
