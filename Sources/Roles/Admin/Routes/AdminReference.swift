import JSON
package import NIOHTTP1

/// The tables of docs/reference/admin-api.md. Pure.
package enum AdminReference {
    /// Returns the table of the routes with a method.
    package static func table(_ method: HTTPMethod) -> String {
        let routes = AdminRoutes.all.filter { $0.method == method }
        let head =
            method == .GET
            ? ["| path | former path | query | about | response |", "| --- | --- | --- | --- | --- |"]
            : ["| path | former path | query | does |", "| --- | --- | --- | --- |"]
        return (head + routes.map { row($0, hasResponse: method == .GET) }).joined(separator: "\n")
    }

    private static func row(_ route: AdminRoute, hasResponse: Bool) -> String {
        let query = route.parameters.filter { $0.place == .query }.map { parameter in
            "`\(parameter.name)=`" + (parameter.isRequired ? "" : "?") + " " + bounds(parameter)
        }
        var cells = [
            "`\(route.path)`" + (route.isOpen ? ", open" : ""), route.former.map { "`\($0)`" } ?? "",
            query.joined(separator: ", "), route.about,
        ]
        if hasResponse { cells.append(route.example.map { "`\($0)`" } ?? route.mediaType) }
        return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private static func bounds(_ parameter: AdminParameter) -> String {
        switch parameter.form {
        case .integer(let range):
            range.upperBound >= Int64(Int32.max)
                ? "≥ \(range.lowerBound)"
                : "\(range.lowerBound) to \(range.upperBound)" + (parameter.standard.map { ", else \($0)" } ?? "")
        case .text: "text"
        case .choice(let choices): choices.map { "`\($0)`" }.joined(separator: " or ")
        }
    }
}
