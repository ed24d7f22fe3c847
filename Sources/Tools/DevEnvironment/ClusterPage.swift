/// The page of `freshet cluster` at `/` of the proxy: where the consoles of the nodes are.
enum ClusterPage {
    static func html(service: String, _ nodes: [ClusterPlan.Node]) -> String {
        let items = nodes.map { node in
            "<li><a href=\"http://\(ClusterPlan.host):\(node.adminPort)/\">\(node.name)</a>: "
                + "\(node.roles.joined(separator: ", "))</li>"
        }
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Freshet cluster</title>
            <style>
            :root { color-scheme: light dark; }
            body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; }
            </style>
            </head>
            <body>
            <h1>Freshet cluster: \(escape(service))</h1>
            <p>Clients use this address. Each node has a console of the whole cluster:</p>
            <ul>
            \(items.joined(separator: "\n"))
            </ul>
            </body>
            </html>

            """
    }

    private static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
