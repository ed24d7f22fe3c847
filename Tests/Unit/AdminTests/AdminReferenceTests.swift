import Foundation
import JSON
import LiveModel
import NIOHTTP1
import TestSupport
import Testing

@testable import Admin

/// The table of routes, the OpenAPI document and the page about the admin API say the same.
@Suite struct AdminReferenceTests {
    private static let page = "docs/reference/admin-api.md"

    /// Compares the tables of the page, or writes them if UPDATE_REFERENCE is set.
    @Test func thePageHasTheTables() throws {
        var text = try Repository.text(Self.page)
        for (name, method) in [("reports", HTTPMethod.GET), ("actions", .POST)] {
            let first = try #require(text.range(of: "<!-- \(name) -->\n")?.upperBound)
            let last = try #require(text.range(of: "\n<!-- end of \(name) -->")?.lowerBound)
            let table = "\n" + AdminReference.table(method) + "\n"
            if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
                text.replaceSubrange(first..<last, with: table)
            } else {
                #expect(text[first..<last] == table, "run the tests with UPDATE_REFERENCE=1 and commit \(Self.page)")
            }
        }
        if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
            try text.write(toFile: Repository.path(Self.page), atomically: true, encoding: .utf8)
        }
    }

    @Test func theDocumentHasEveryRouteAndParameter() throws {
        let document = OpenAPIDocument.json(of: AdminRoutes.all)
        #expect(document["openapi"] == "3.1.0")
        let paths = try #require(document["paths"]?.objectValue)
        var operations = 0
        var ids: Set<String> = []
        for route in AdminRoutes.all {
            for path in [route.path] + (route.former.map { [$0] } ?? []) {
                let operation = try #require(paths[path]?[route.method.rawValue.lowercased()], "\(path)")
                operations += 1
                ids.insert(try #require(operation["operationId"]?.stringValue))
                let listed = (operation["parameters"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
                #expect(listed == route.parameters.map(\.name), "\(path)")
                let inPath = path.matches(of: /\{(\w+)\}/).map { String($0.1) }
                let required = route.parameters.filter { $0.place == .path }.map(\.name)
                #expect(inPath == required, "\(path)")
                #expect(operation["responses"]?["200"]?["content"]?[route.mediaType]?["schema"] != nil, "\(path)")
                #expect(operation["deprecated"] == (path == route.path ? nil : true), "\(path)")
                // A report can be followed, but not under its former path.
                let isFollowed = route.isReport && path == route.path
                let every = (operation["parameters"]?.arrayValue ?? []).contains {
                    $0["$ref"] == "#/components/parameters/every"
                }
                #expect(every == isFollowed, "\(path)")
                if route.mediaType != "text/event-stream" {
                    let events = operation["responses"]?["200"]?["content"]?["text/event-stream"]
                    #expect((events != nil) == isFollowed, "\(path)")
                }
            }
        }
        #expect(paths.entries.reduce(0) { $0 + ($1.value.objectValue?.count ?? 0) } == operations)
        #expect(ids.count == operations)
        #expect(document["components"]?["parameters"]?["every"]?["schema"]?["default"] == 2_000)
        #expect(document.description.contains("](") == false, "links of the page are no part of the document")
    }

    @Test func everyPathFindsItsOwnRoute() throws {
        for route in AdminRoutes.all {
            let path = route.path.replacing(/\{\w+\}/, with: "7")
            let found = try AdminRoutes.find(route.method, path)
            #expect(found.route.path == route.path && !found.isFormer)
            guard let former = route.former?.replacing(/\{\w+\}/, with: "7") else { continue }
            let again = try AdminRoutes.find(route.method, former)
            #expect(again.route.path == route.path && again.isFormer)
        }
    }

    @Test func everyReportHasAVersionedPath() {
        for route in AdminRoutes.all where route.path.hasPrefix("/admin/") && !route.path.hasPrefix("/admin/v1/") {
            #expect(route.about.contains("deprecated"), "\(route.path)")
        }
    }

    @Test func everyReportOfThisVersionCanBeFollowed() {
        let rest = AdminRoutes.all.filter { $0.method == .GET && !$0.isReport }.map(\.path)
        #expect(
            rest == ["/healthz", "/readyz", "/metrics", "/admin/v1/tail", "/admin/v1/follow/{connector}/{operation}"])
    }

    @Test func unknownParametersAreNamed() throws {
        let shards = try AdminRoutes.find(.GET, "/admin/v1/live-queries")
        let error = failure { () throws(RequestError) in try shards.arguments([("limt", "5")]) }
        #expect(error?.code == .badRequest && error?.message.contains("limt") == true)
        let former = try AdminRoutes.find(.GET, "/admin/live-queries")
        #expect(try former.arguments([("limt", "5")]).integer("limit") == 100)
    }

    @Test(
        arguments: [
            ("limit", "-1", "limit"), ("limit", "10001", "10000"), ("limit", "x", "limit"), ("node", "", "node"),
        ])
    func valuesOutOfBoundsAreRefused(_ name: String, _ value: String, _ part: String) throws {
        let match = try AdminRoutes.find(.GET, "/admin/v1/live-queries")
        let error = failure { () throws(RequestError) in try match.arguments([(name, value)]) }
        #expect(error?.code == .badRequest && error?.message.contains(part) == true)
    }
}
