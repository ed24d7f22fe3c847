import Catalog
import Execution
import JSON
import LiveModel
import QuerySQL
import Testing

/// One row of the language: a query, and what it gives on the shared rows.
struct QueryRow: Sendable, CustomTestStringConvertible {
    let name: String
    let operation: String
    let variables: String
    let auth: Auth?
    /// JSON text of `data`, byte for byte, and ` !path: message` for each error beside it; or `!` and the beginning of
    /// an error's message.
    let result: String

    init(_ name: String, _ operation: String, auth: Auth? = nil, _ result: String) {
        self.init(name, operation, "{}", auth: auth, result)
    }

    init(_ name: String, _ operation: String, _ variables: String, auth: Auth? = nil, _ result: String) {
        self.name = name
        self.operation = LanguageSchema.expand(operation)
        self.variables = LanguageSchema.expand(variables)
        self.auth = auth
        self.result = LanguageSchema.expand(result)
    }

    var testDescription: String { name }

    /// Runs alone and in a statement with another of its kind; both give the same.
    func check(_ group: String) async throws {
        let running = try #require(LanguageServer.current)
        let stored = try LanguageSchema.operation(operation)
        let executor = QueryExecutor(pool: running.pool, clock: fixedClock)
        let sent = try stored.coerced(variables)
        let call = try stored.queryCall(variables: sent, auth: auth, nowMs: requestMs)
        Golden.expect(call.statement.single, of: name, in: group)
        let alone: String
        var digest: Digest?
        do throws(RequestError) {
            let outcome = try await executor.run(stored, variables: sent, auth: auth)
            alone = Self.text(outcome.answer)
            digest = outcome.digest
        } catch {
            alone = "!\(error.message)"
        }
        if result.hasPrefix("!") {
            #expect(alone.hasPrefix(result), "\(alone)")
        } else {
            #expect(alone == result)
        }
        let items = [nil, digest].map { QueryExecutor.Item(variables: sent, auth: auth, knownDigest: $0) }
        let together = await executor.run(stored, items: items)
        let called = await withCheckedContinuation { continuation in
            executor.run(stored, items: items) { continuation.resume(returning: $0) }
        }
        #expect("\(called)" == "\(together)")
        switch together[0] {
        case .result(let found): #expect(Self.text(found.answer) == alone)
        case .failed(let error): #expect("!\(error.message)" == alone)
        case .unchanged: Issue.record("nothing was known, yet it is unchanged")
        case .cutShort: Issue.record("cut short without a limit")
        }
        if digest != nil, case .unchanged = together[1] {
        } else if digest != nil {
            Issue.record("the known result came again: \(together[1])")
        }
    }

    private static func text(_ answer: OperationAnswer) -> String {
        answer.errors.reduce(String(decoding: answer.body, as: UTF8.self)) { text, error in
            let path = error.path.map { element in
                switch element {
                case .key(let key): key
                case .index(let index): String(index)
                }
            }
            return "\(text) !\(path.joined(separator: ".")): \(error.message)"
        }
    }
}
