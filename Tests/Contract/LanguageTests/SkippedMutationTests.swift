import Catalog
import Execution
import LiveModel
import Operations
import Testing

extension Language {
    /// A mutation whose fields are all left out was executed nevertheless, with or without steps: it has an event.
    @Suite struct SkippedMutations {
        @Test(arguments: [
            #"mutation M($on: Boolean!) { novel_insert(data: {title: "x", genre: NOIR}) @include(if: $on) }"#,
            #"""
            mutation M($on: Boolean!) {
              a: novel_insert(data: {title: "x", genre: NOIR}) @include(if: $on)
              b: novel_insert(data: {title: "y", genre: NOIR}) @include(if: $on)
            }
            """#,
            #"""
            mutation M($on: Boolean!) @transaction {
              query @include(if: $on) { novel(id: "<m1>") { title @check(expr: "this != null", message: "no") } }
              novel_insert(data: {title: "x", genre: NOIR}) @include(if: $on)
            }
            """#,
        ]) func mutationsWithoutFieldsHaveAnEvent(_ text: String) async throws {
            let stored = try LanguageSchema.operation(LanguageSchema.expand(text))
            try await LanguageServer.withOwnDatabase { pool in
                let executor = MutationExecutor(pool: pool, clock: fixedClock, makeUUID: { MutationRow.freshUUID })
                let outcome = try await executor.run(
                    stored, variables: try stored.coerced(#"{"on": false}"#), auth: nil,
                    envelope: MutationExecutor.Envelope(
                        eventID: "e0000000-0000-4000-8000-00000000000e", traceID: "trace", shards: [ShardID(0)],
                        authReads: .nothing, loadedDeployment: 0))
                #expect(String(decoding: outcome.body, as: UTF8.self) == "{}")
                #expect(outcome.errors.isEmpty && outcome.failure == nil)
                let event = try MutationEvent(encoded: #require(outcome.event).event)
                #expect(event.operation == stored.reference && event.keysWritten.isEmpty)
            }
        }
    }
}
