import Catalog
import Execution
import JSON
import LiveModel
import Synchronization
import Testing

extension Language {
    /// A batch of live queries that waits for a custom resolver.
    @Suite struct LateResolvers {
        /// Is late for one name and answers all others.
        private final class Resolver: ResolverTransport {
            let asked = Mutex(0)
            let late: String

            init(late: String) { self.late = late }

            func call(_ call: RemoteCall) async throws(RequestError) -> [UInt8] {
                asked.withLock { $0 += 1 }
                let variables = (try? JSONParser.parse(call.body))?["variables"]
                if late.isEmpty || variables?["a0"]?.stringValue == late {
                    throw RequestError(.timeout, "late", path: [.key(call.responseKey)])
                }
                return Array(#""well""#.utf8)
            }
        }

        private func run(late: String, count: Int) async throws -> (outcomes: [QueryExecutor.Outcome], asked: Int) {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: LanguageSchema.sdl)],
                    resolvers: [
                        ResolverSource(
                            endpoint: ResolverEndpoint(id: "greetings", uri: "http://localhost:1/g", timeoutMs: 500),
                            files: [SourceFile(path: "g.gql", text: "type Query { greeting(name: String!): String }")])
                    ],
                    connectors: [
                        ConnectorSource(
                            id: "main",
                            files: [
                                SourceFile(
                                    path: "main.gql",
                                    text:
                                        "query Q($n: String!) @auth(level: PUBLIC) { greeting(name: $n) users(limit: 1) { id } }"
                                )
                            ])
                    ]))
            let operation = try #require(catalog.connectors["main"]?.operations.values.first)
            let resolver = Resolver(late: late)
            let executor = QueryExecutor(
                pool: try #require(LanguageServer.current).pool, clock: fixedClock, resolvers: resolver)
            let items = (0..<count).map {
                QueryExecutor.Item(variables: ["n": .string("\($0)")], auth: nil, knownDigest: nil)
            }
            return (await executor.run(operation, items: items), resolver.asked.withLock { $0 })
        }

        /// The run ends with one time-out, not with one after the other.
        @Test func whatWasNotAskedForFailsWithWhatWasLate() async throws {
            let (outcomes, asked) = try await run(late: "", count: 64)
            #expect((1..<64).contains(asked), "\(asked)")
            for outcome in outcomes {
                guard case .failed(let error) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(error.code == .timeout && error.path == [.key("greeting")])
            }
        }

        @Test func whatWasAskedForBeforeIsKept() async throws {
            let (outcomes, asked) = try await run(late: "63", count: 64)
            #expect(asked == 64)
            for (number, outcome) in outcomes.enumerated() {
                switch outcome {
                case .result(let result) where number < 63:
                    #expect(
                        String(decoding: result.answer.body, as: UTF8.self)
                            == #"{"greeting":"well","users":[{"id":"ann"}]}"#)
                case .failed(let error) where number == 63: #expect(error.code == .timeout)
                default: Issue.record("\(number): \(outcome)")
                }
            }
        }
    }
}
