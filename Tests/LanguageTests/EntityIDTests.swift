import Catalog
import Execution
import JSON
import LiveModel
import SchemaModel
import Testing

extension Language {
    /// Ids of rows for normalised caches. Source: SQL Connect wire §4.
    @Suite struct EntityIDs {
        private func operation(_ text: String, isIncluded: Bool = true) throws -> StoredOperation {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: LanguageSchema.sdl)],
                    connectors: [
                        ConnectorSource(
                            id: "main", files: [SourceFile(path: "main.gql", text: LanguageSchema.expand(text))],
                            includesEntityIDs: isIncluded)
                    ]))
            return try #require(catalog.connectors["main"]?.operations.values.first)
        }

        /// The result alone and in a statement for many, which must be the same.
        private func run(_ operation: StoredOperation, _ variables: String = "{}") async throws -> QueryExecutor.Result
        {
            let pool = try #require(LanguageServer.current).pool
            let executor = QueryExecutor(pool: pool, clock: fixedClock)
            let sent = try operation.coerced(LanguageSchema.expand(variables))
            let alone = try await executor.run(operation, variables: sent, auth: nil)
            let items = [nil, alone.digest].map { QueryExecutor.Item(variables: sent, auth: nil, knownDigest: $0) }
            let together = await executor.run(operation, items: items)
            let called = await withCheckedContinuation { continuation in
                executor.run(operation, items: items) { continuation.resume(returning: $0) }
            }
            #expect("\(called)" == "\(together)")
            guard case .result(let first) = together[0], case .unchanged = together[1] else {
                Issue.record("\(together)")
                return alone
            }
            #expect(first.answer == alone.answer && first.digest == alone.digest)
            return alone
        }

        private func entities(_ result: QueryExecutor.Result) throws -> [JSONValue] {
            result.answer.entities.isEmpty ? [] : try #require(try JSONParser.parse(result.answer.entities).arrayValue)
        }

        /// Paths in their order, with the number of ids.
        private func shape(_ result: QueryExecutor.Result) throws -> [String] {
            try entities(result).map { entry in
                let path = String(decoding: JSONWriter.compact(entry["path"] ?? .null), as: UTF8.self)
                return path + (entry["entityIds"]?.arrayValue.map { " \($0.count)" } ?? "")
            }
        }

        @Test func dataAreTheSameWithAndWithout() async throws {
            for row in Language.Queries.rows
            where row.variables == "{}" && row.auth == nil && !row.result.hasPrefix("!") {
                let result = try await run(try operation(row.operation))
                #expect(String(decoding: result.answer.body, as: UTF8.self) == row.result, "\(row.name)")
                let without = try await run(try operation(row.operation, isIncluded: false))
                #expect(without.answer.entities.isEmpty && without.answer.body == result.answer.body, "\(row.name)")
            }
        }

        @Test func pathsOfObjectsAndLists() async throws {
            let text = """
                query Q { movie(id: "<m1>") { title director { name people_on_mentor { name } } reviews_on_movie { stars author { name } }
                  movieMetadata_on_movie { studio } } absent: movie(id: "<m5>") { title } none: movies(where: {title: {eq: "-"}}) { id } }
                """
            #expect(
                try shape(try await run(try operation(text))) == [
                    #"["movie"]"#, #"["movie","director"]"#, #"["movie","director","people_on_mentor"] 1"#,
                    #"["movie","reviews_on_movie"] 2"#, #"["movie","reviews_on_movie",0,"author"]"#,
                    #"["movie","reviews_on_movie",1,"author"]"#, #"["movie","movieMetadata_on_movie"]"#,
                ])
        }

        @Test func idsAreStableAndTellTablesApart() async throws {
            let one = try entities(
                try await run(try operation(#"query Q { movie(id: "<m1>") { title } user(id: "ann") { name } }"#)))
            let other = try entities(
                try await run(
                    try operation(
                        "query Q { m: movies(orderBy: [{title: ASC}]) { genre } reviews(orderBy: [{stars: DESC}]) { movie { id } } }"
                    )))
            let alpha = try #require(one[0]["entityId"]?.stringValue)
            #expect(alpha.utf8.count == 32 && !alpha.contains(LanguageSchema.expand("<m1>")))
            let list = try #require(other[0]["entityIds"]?.arrayValue)
            #expect(list.count == 4 && Set(list.compactMap(\.stringValue)).count == 4)
            #expect(list[0].stringValue == alpha, "the order of the list")
            #expect(other.contains { $0["path"] == ["reviews", 0, "movie"] && $0["entityId"]?.stringValue == alpha })
            #expect(one[1]["entityId"]?.stringValue != alpha)
            // Equal keys of different tables.
            let keys = try entities(
                try await run(
                    try operation(
                        #"query Q { movieActor(movieId: "<m1>", actorId: "<p1>") { role } person(id: "<p1>") { name } movie(id: "<m1>") { title } }"#
                    )))
            #expect(Set(keys.compactMap { $0["entityId"]?.stringValue }).count == 3)
        }

        @Test func noIdWhereAnAliasHasTheNameOfAnotherField() async throws {
            let text =
                #"query Q { a: movie(id: "<m1>") { t: title } b: movie(id: "<m1>") { title: genre } c: movie(id: "<m1>") { director: title } }"#
            #expect(try shape(try await run(try operation(text))) == [#"["a"]"#])
        }

        @Test func noIdForGroupsDistinctRowsViewsAndNativeSQL() async throws {
            let text = """
                query Q($d: Boolean) { movies { genre _count } d: movies(distinct: true) { releaseYear } v: movies(distinct: $d) { id }
                  movieStatss { reviewCount movie { title } } _select(sql: "SELECT 'x' AS \\"#\\"") }
                """
            let result = try await run(try operation(text))
            #expect(try shape(result).allSatisfy { $0.hasPrefix(#"["movieStatss","#) && $0.hasSuffix(#""movie"]"#) })
            #expect(String(decoding: result.answer.body, as: UTF8.self).contains(##""_select":[{"#":"x"}]"##))
        }

        @Test func whatIsRedactedKeepsNoId() async throws {
            let text =
                #"query Q { movie(id: "<m1>") { title director @redact @check(expr: "this != null", message: "no") { name } } }"#
            let result = try await run(try operation(text))
            #expect(String(decoding: result.answer.body, as: UTF8.self) == #"{"movie":{"title":"Alpha"}}"#)
            #expect(try shape(result) == [#"["movie"]"#])
        }

        @Test func whatAFailedCheckWithholdsHasNone() async throws {
            let result = try await run(
                try operation(#"query Q { movie(id: "<m1>") { title } user(id: "bob") { name role @check } }"#))
            #expect(String(decoding: result.answer.body, as: UTF8.self) == #"{"movie":{"title":"Alpha"},"user":null}"#)
            #expect(try shape(result) == [#"["movie"]"#] && result.answer.errors.count == 1)
            var without = result.answer
            without.errors = []
            #expect(result.digest == result.answer.digest && result.digest != without.digest)
        }

        @Test func includedFieldsAndFilterVariables() async throws {
            let text =
                #"query Q($s: Boolean!, $f: Movie_Filter) { movies(where: $f) { title @skip(if: $s) director @include(if: $s) { name } } }"#
            let result = try await run(try operation(text), #"{"s": true, "f": {"title": {"eq": "Alpha"}}}"#)
            #expect(try shape(result) == [#"["movies"] 1"#, #"["movies",0,"director"]"#])
        }
    }
}
