import Catalog
import Foundation
import JSON
import LiveModel
import TestSupport
import QuerySQL
import SchemaModel
import Testing

/// The shared cases about refreshes, as far as the catalog decides them: every case compiles, and what it says of
/// implicit refreshes follows from the keys looked up and the keys written.
@Suite struct RefreshCasesCompileConformance {
    struct Case: Sendable, CustomTestStringConvertible {
        let id: String
        let json: JSONValue
        var testDescription: String { id }

        func text(_ path: String...) -> String? { at(path)?.stringValue }
        func object(_ path: String...) -> JSONObject { at(path)?.objectValue ?? JSONObject() }
        func flag(_ path: String...) -> Bool { at(path)?.boolValue ?? false }

        private func at(_ path: [String]) -> JSONValue? {
            path.reduce(json as JSONValue?) { value, key in value?[key] }
        }

        func auth(of side: String) -> Auth? {
            let auth = object(side, "auth")
            guard let uid = auth["uid"]?.stringValue else { return nil }
            return Auth(uid: uid, token: auth["token"]?.objectValue ?? JSONObject())
        }
    }

    static func cases() -> [Case] {
        // Without the file there is no case, and the trait says so.
        ((try? ConformanceVectors.lines(of: "refresh/cases.jsonl")) ?? []).map { line in
            let json = (try? JSONValue(parsing: Array(line))) ?? .null
            return Case(id: json["id"]?.stringValue ?? "unreadable", json: json)
        }
    }

    @Test(.vectors("refresh/cases.jsonl"), arguments: cases()) func compilesAndKeysAgree(_ refreshCase: Case) throws {
        var connectors: [String: String] = [:]
        for entry in refreshCase.object("connectors") { connectors[entry.key] = entry.value.stringValue }
        let catalog: Catalog
        do {
            catalog = try CatalogHarness.compile(connectors, schema: try #require(refreshCase.text("schema")))
        } catch let error as CatalogError {
            if refreshCase.flag("expect", "may_reject") { return }
            Issue.record("does not compile: \(DiagnosticRenderer().render(error.diagnostics))")
            return
        }
        let query = try operation("subscriber", refreshCase, catalog)
        let mutation = try operation("mutation", refreshCase, catalog)
        let lookedUp = query.lookupKeys(
            variables: try query.coerce(refreshCase.object("subscriber", "variables")),
            auth: refreshCase.auth(of: "subscriber"))
        let call = try mutation.mutationCall(
            variables: try mutation.coerce(refreshCase.object("mutation", "variables")),
            auth: refreshCase.auth(of: "mutation"), nowMs: 1_700_000_000_000,
            makeUUID: { "00000000-0000-4000-8000-0000000000ff" })
        _ = try query.queryCall(
            variables: try query.coerce(refreshCase.object("subscriber", "variables")),
            auth: refreshCase.auth(of: "subscriber"), nowMs: 1_700_000_000_000)

        let isCommitted = refreshCase.text("mutation", "outcome") == "ok"
        let isImplicit = isCommitted && !Set(lookedUp).isDisjoint(with: call.keysWritten)
        let expected = ["implicit", "both"].contains(refreshCase.text("expect", "by"))
        #expect(isImplicit == expected, "looked up \(lookedUp), written \(call.keysWritten)")
        if refreshCase.flag("expect", "refresh") {
            #expect(catalog.queriesRefreshed(by: mutation.reference).contains(query.reference))
        }
    }

    private func operation(_ side: String, _ refreshCase: Case, _ catalog: Catalog) throws -> StoredOperation {
        let reference = OperationReference(
            connector: try #require(refreshCase.text(side, "connector")),
            operation: try #require(refreshCase.text(side, "operation")))
        return try #require(catalog.operation(reference), "no operation \(reference)")
    }
}
