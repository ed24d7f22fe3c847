import GraphQLLanguage
package import SchemaModel

/// The root fields generated from a schema, by name. Source: docs/reference/sql-connect.md §5.4 and §5.6.
package struct GeneratedAPI: Sendable {
    enum QueryField: Sendable {
        case lookup(Table)
        case list(Table)
        case search(Table)
        case similarity(Table, Column)
        case select(first: Bool)
        case remote(FieldDefinition, ResolverSchema)
    }

    enum MutationField: Sendable {
        case insert(Table, isUpsert: Bool)
        case insertMany(Table, isUpsert: Bool)
        case update(Table)
        case updateMany(Table)
        case delete(Table)
        case deleteMany(Table)
        case execute(NativeSQL.Result)
        case query
        case remote(FieldDefinition, ResolverSchema)
    }

    package let schema: Schema
    private(set) var queries: [String: QueryField] = [:]
    private(set) var mutations: [String: MutationField] = [:]
    /// Types on which fragments are allowed.
    private(set) var outputTypes: Set<String>
    private(set) var resolvers: [ResolverSchema] = []

    package init(schema: Schema) {
        self.schema = schema
        outputTypes = Set((schema.tables + schema.views).map(\.typeName)).union(["Query", "Mutation", "_Metadata"])
        for view in schema.views { queries[view.plural] = .list(view) }
        for table in schema.tables {
            queries[table.plural] = .list(table)
            if table.columns.contains(where: { $0.searchLanguage != nil }) {
                queries["\(table.plural)_search"] = .search(table)
            }
            for column in table.columns where column.type.scalar == .vector {
                queries["\(table.plural)_\(column.field)_similarity"] = .similarity(table, column)
            }
            queries[table.singular] = .lookup(table)
            let name = table.singular
            mutations["\(name)_insert"] = .insert(table, isUpsert: false)
            mutations["\(name)_insertMany"] = .insertMany(table, isUpsert: false)
            mutations["\(name)_upsert"] = .insert(table, isUpsert: true)
            mutations["\(name)_upsertMany"] = .insertMany(table, isUpsert: true)
            mutations["\(name)_update"] = .update(table)
            mutations["\(name)_updateMany"] = .updateMany(table)
            mutations["\(name)_delete"] = .delete(table)
            mutations["\(name)_deleteMany"] = .deleteMany(table)
        }
        queries["_select"] = .select(first: false)
        queries["_selectFirst"] = .select(first: true)
        mutations["_execute"] = .execute(.affectedCount)
        mutations["_executeReturning"] = .execute(.rows)
        mutations["_executeReturningFirst"] = .execute(.firstRow)
        mutations["query"] = .query
    }

    /// Returns the API extended by the fields of custom resolvers, whose names must be free.
    package func adding(_ resolvers: [ResolverSchema]) -> GeneratedAPI {
        var api = self
        api.resolvers = resolvers
        for resolver in resolvers {
            api.outputTypes.formUnion(resolver.objects.keys)
            for field in resolver.queries { api.queries[field.name.value] = .remote(field, resolver) }
            for field in resolver.mutations { api.mutations[field.name.value] = .remote(field, resolver) }
        }
        return api
    }
}
