import HTTPServer
import LiveModel
import NIOHTTP1
import Sessions

/// The table of the admin API's routes.
package enum AdminRoutes {
    package static let all: [AdminRoute] = probes + reports + inspection + recorded + plans + console + actions

    /// A route that a request means.
    struct Match: Sendable {
        let route: AdminRoute
        let path: [String: String]
        /// Whether the request names the route's former path.
        let isFormer: Bool

        /// - Throws: `.badRequest`.
        func arguments(_ query: [(name: String, value: String)]) throws(RequestError) -> AdminArguments {
            try AdminArguments(route.parameters, path: path, query: query, isStrict: !isFormer)
        }

        /// Returns how often a report is made for its event stream; nil if the request wants one answer.
        /// - Throws: `.badRequest`.
        func everyMs(_ request: HTTPRequest) throws(RequestError) -> Int64? {
            guard route.isReport, !isFormer else { return nil }
            let every = ReportStream.every
            let value = request.queryItems.first { $0.name == every.name }?.value
            guard Preferences.accepts(OpenAPIDocument.eventStream, in: request.header("accept") ?? "") else {
                if value == nil { return nil }
                throw RequestError(.badRequest, "every is for event streams: send Accept: text/event-stream")
            }
            return try AdminArguments([every], path: [:], query: value.map { [(every.name, $0)] } ?? [])
                .integer(every.name)
        }
    }

    /// Finds the route of a request.
    /// - Throws: `.notFound` for an unknown path, `.methodNotAllowed` for one that has other methods.
    static func find(_ method: HTTPMethod, _ path: String) throws(RequestError) -> Match {
        var others: [HTTPMethod] = []
        for route in all {
            let (present, former) = (
                AdminRoute.match(route.path, path), route.former.flatMap { AdminRoute.match($0, path) }
            )
            guard let values = present ?? former else { continue }
            if route.method == method { return Match(route: route, path: values, isFormer: present == nil) }
            others.append(route.method)
        }
        guard let other = others.first else {
            throw RequestError(.notFound, method == .POST ? "no action at this path" : "not found")
        }
        throw RequestError(.methodNotAllowed, "this path allows \(other)")
    }
}
