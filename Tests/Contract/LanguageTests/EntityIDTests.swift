import Catalog
import Execution
import JSON
import LiveModel
import SchemaModel
import Testing

extension Language {
    /// Ids of rows for normalised caches. Source: docs/reference/sql-connect.md §4.
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
                query Q {
                  novel(id: "<m1>") {
                    title narrator { name people_on_mentor { name } }
                    remarks_on_novel { stars author { name } }
                    novelPrinting_on_novel { binder }
                  }
                  absent: novel(id: "<m5>") { title }
                  none: novels(where: {title: {eq: "-"}}) { id }
                }
                """
            #expect(
                try shape(try await run(try operation(text))) == [
                    #"["novel"]"#, #"["novel","narrator"]"#, #"["novel","narrator","people_on_mentor"] 1"#,
                    #"["novel","remarks_on_novel"] 2"#, #"["novel","remarks_on_novel",0,"author"]"#,
                    #"["novel","remarks_on_novel",1,"author"]"#, #"["novel","novelPrinting_on_novel"]"#,
                ])
        }

        @Test func idsAreStableAndTellTablesApart() async throws {
            let one = try entities(
                try await run(try operation(#"query Q { novel(id: "<m1>") { title } user(id: "ann") { name } }"#)))
            let other = try entities(
                try await run(
                    try operation(
                        """
                        query Q {
                          m: novels(orderBy: [{title: ASC}]) { genre }
                          remarks(orderBy: [{stars: DESC}]) { novel { id } }
                        }
                        """
                    )))
            let alpha = try #require(one[0]["entityId"]?.stringValue)
            #expect(alpha.utf8.count == 32 && !alpha.contains(LanguageSchema.expand("<m1>")))
            let list = try #require(other[0]["entityIds"]?.arrayValue)
            #expect(list.count == 4 && Set(list.compactMap(\.stringValue)).count == 4)
            #expect(list[0].stringValue == alpha, "the order of the list")
            #expect(other.contains { $0["path"] == ["remarks", 0, "novel"] && $0["entityId"]?.stringValue == alpha })
            #expect(one[1]["entityId"]?.stringValue != alpha)
            // Equal keys of different tables.
            let keys = try entities(
                try await run(
                    try operation(
                        """
                        query Q {
                          novelMaker(novelId: "<m1>", makerId: "<p1>") { role }
                          person(id: "<p1>") { name }
                          novel(id: "<m1>") { title }
                        }
                        """
                    )))
            #expect(Set(keys.compactMap { $0["entityId"]?.stringValue }).count == 3)
        }

        @Test func noIdWhereAnAliasHasTheNameOfAnotherField() async throws {
            let text =
                """
                query Q {
                  a: novel(id: "<m1>") { t: title }
                  b: novel(id: "<m1>") { title: genre }
                  c: novel(id: "<m1>") { narrator: title }
                }
                """
            #expect(try shape(try await run(try operation(text))) == [#"["a"]"#])
        }

        @Test func noIdForGroupsDistinctRowsViewsAndNativeSQL() async throws {
            let text = """
                query Q($d: Boolean) {
                  novels { genre _count }
                  d: novels(distinct: true) { printedYear }
                  v: novels(distinct: $d) { id }
                  novelStatss { remarkCount novel { title } } _select(sql: "SELECT 'x' AS \\"#\\"") }
                """
            let result = try await run(try operation(text))
            #expect(try shape(result).allSatisfy { $0.hasPrefix(#"["novelStatss","#) && $0.hasSuffix(#""novel"]"#) })
            #expect(String(decoding: result.answer.body, as: UTF8.self).contains(##""_select":[{"#":"x"}]"##))
        }

        @Test func redactedRowsHaveNoEntityID() async throws {
            let text =
                """
                query Q {
                  novel(id: "<m1>") { title narrator @redact @check(expr: "this != null", message: "no") { name } }
                }
                """
            let result = try await run(try operation(text))
            #expect(String(decoding: result.answer.body, as: UTF8.self) == #"{"novel":{"title":"Alpha"}}"#)
            #expect(try shape(result) == [#"["novel"]"#])
        }

        @Test func rowsWithheldByACheckHaveNoEntityID() async throws {
            let result = try await run(
                try operation(#"query Q { novel(id: "<m1>") { title } user(id: "bob") { name role @check } }"#))
            #expect(String(decoding: result.answer.body, as: UTF8.self) == #"{"novel":{"title":"Alpha"},"user":null}"#)
            #expect(try shape(result) == [#"["novel"]"#] && result.answer.errors.count == 1)
            var without = result.answer
            without.errors = []
            #expect(result.digest == result.answer.digest && result.digest != without.digest)
        }

        @Test func includedFieldsAndFilterVariables() async throws {
            let text =
                """
                query Q($s: Boolean!, $f: Novel_Filter) {
                  novels(where: $f) { title @skip(if: $s) narrator @include(if: $s) { name } }
                }
                """
            let result = try await run(try operation(text), #"{"s": true, "f": {"title": {"eq": "Alpha"}}}"#)
            #expect(try shape(result) == [#"["novels"] 1"#, #"["novels",0,"narrator"]"#])
        }
    }
}
