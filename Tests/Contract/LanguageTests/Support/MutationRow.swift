import Catalog
import Execution
import JSON
import LiveModel
import Postgres
import QuerySQL
import Testing

/// One row of the language: a mutation, its result, and the database afterwards.
struct MutationRow: Sendable, CustomTestStringConvertible {
    let name: String
    let operation: String
    let variables: String
    let auth: Auth?
    /// JSON text of `data`.
    let data: String
    /// `path: CODE message` of each error.
    let errors: [String]
    /// A query in SQL that gives one text, and the text.
    let afterwards: (sql: String, text: String?)
    /// Rows written by key, as the event tells them; nil when that is not the point.
    let keys: [String]?
    let isCommitted: Bool

    init(
        _ name: String, _ operation: String, _ variables: String = "{}", auth: Auth? = nil, data: String,
        errors: [String] = [], afterwards: (String, String?), keys: [String]? = nil, isCommitted: Bool = true
    ) {
        self.name = name
        self.operation = LanguageSchema.expand(operation)
        self.variables = LanguageSchema.expand(variables)
        self.auth = auth
        self.data = LanguageSchema.expand(data)
        self.errors = errors
        self.afterwards = (LanguageSchema.expand(afterwards.0), afterwards.1.map(LanguageSchema.expand))
        self.keys = keys?.map(LanguageSchema.expand)
        self.isCommitted = isCommitted
    }

    var testDescription: String { name }

    func check() async throws {
        let stored = try LanguageSchema.operation(operation)
        let sent = try stored.coerced(variables)
        if !stored.isStepwise,
            let call = try? stored.mutationCall(
                variables: sent, auth: auth, nowMs: requestMs, makeUUID: { Self.freshUUID })
        {
            Golden.expect(call.steps.map(\.sql).joined(separator: "\n"), of: name, in: "mutations")
        }
        try await LanguageServer.withOwnDatabase { pool in
            let executor = MutationExecutor(pool: pool, clock: fixedClock, makeUUID: { Self.freshUUID })
            let envelope = MutationExecutor.Envelope(
                eventID: "e0000000-0000-4000-8000-00000000000e", traceID: "trace",
                shards: [ShardID(0)], authReads: .nothing, loadedDeployment: 0)
            var found: (data: String, errors: [String], isCommitted: Bool)
            do throws(RequestError) {
                let outcome = try await executor.run(stored, variables: sent, auth: auth, envelope: envelope)
                found = (
                    String(decoding: outcome.body, as: UTF8.self), outcome.errors.map(Self.text),
                    outcome.failure == nil
                )
                if let keys, let event = outcome.event.flatMap({ try? MutationEvent(encoded: $0.event) }) {
                    #expect(event.keysWritten.map { "\($0.table)\($0.values)" } == keys)
                } else if let keys {
                    #expect(keys.isEmpty, "there is no event")
                }
            } catch {
                found = ("", [Self.text(error)], false)
            }
            #expect(found.data == data)
            #expect(found.errors == errors)
            #expect(found.isCommitted == isCommitted)
            let rows = try await pool.query(Statement(afterwards.sql))
            #expect(rows.rows.first?.string(0) == afterwards.text)
        }
    }

    /// Checks that a mutation with an idempotency key does the same, and that a retry gets the same answer and does
    /// nothing.
    func checkRetry() async throws {
        let stored = try LanguageSchema.operation(operation)
        let sent = try stored.coerced(variables)
        let key = try IdempotencyKey("8e03978e-40d5-43e8-bc93-6894a57f9324")
        try await LanguageServer.withOwnDatabase { pool in
            let executor = MutationExecutor(pool: pool, clock: fixedClock, makeUUID: { Self.freshUUID })
            func run(_ number: Int) async -> (data: String, errors: [String], isReplay: Bool?) {
                let envelope = MutationExecutor.Envelope(
                    eventID: "e0000000-0000-4000-8000-00000000000\(number)", traceID: "trace", shards: [ShardID(0)],
                    authReads: .nothing, loadedDeployment: 0)
                do throws(RequestError) {
                    let outcome = try await executor.run(
                        stored, variables: sent, auth: auth, key: key, envelope: envelope)
                    #expect((outcome.event == nil) == (outcome.failure != nil || outcome.keyUse?.isReplay == true))
                    return (
                        String(decoding: outcome.body, as: UTF8.self), outcome.errors.map(Self.text),
                        outcome.keyUse?.isReplay
                    )
                } catch {
                    return ("", [Self.text(error)], nil)
                }
            }
            let found = await run(1)
            #expect(found.data == data && found.errors == errors)
            #expect(found.isReplay == (isCommitted ? false : nil))
            let rows = try await pool.query(Statement(afterwards.sql))
            #expect(rows.rows.first?.string(0) == afterwards.text)
            let kept = try await pool.query("SELECT count(*) FROM freshet.idempotency_keys").rows.first?.int(0)
            #expect(kept == (isCommitted ? 1 : 0))
            let again = await run(2)
            #expect(again.data == data && again.errors == errors)
            #expect(again.isReplay == (isCommitted ? true : nil))
            let still = try await pool.query(Statement(afterwards.sql))
            #expect(still.rows.first?.string(0) == afterwards.text)
            let events = try await pool.query("SELECT count(*) FROM freshet.outbox").rows.first?.int(0)
            #expect(events == (isCommitted ? 1 : 0))
        }
    }

    static let freshUUID = "f0000000-0000-4000-8000-00000000000f"

    private static func text(_ error: RequestError) -> String {
        let path = error.path.map { element in
            switch element {
            case .key(let key): key
            case .index(let index): String(index)
            }
        }
        return "\(path.joined(separator: ".")): \(error.code.rawValue) \(error.message)"
    }
}
