package import JSON
package import LiveModel

/// A report that consists of the parts of several nodes.
package struct GatheredReport: Sendable {
    package typealias Merge = @Sendable ([ReportPart], AdminArguments) -> JSONObject
    package typealias Further = @Sendable (AdminServices, [ReportPart], AdminArguments) async throws -> GatheredParts

    /// The roles of which a node needs one to have a part; empty: every node has one.
    let roles: @Sendable (AdminArguments) -> Set<Role>
    let merge: Merge
    /// Makes this node's part, an object.
    let part: AdminRoute.Report
    /// Gathers what the first parts lead to; nil: they are all.
    let further: Further?

    init(roles: Set<Role> = [], merge: @escaping Merge, part: @escaping AdminRoute.Report) {
        self.init(rolesBy: { _ in roles }, merge: merge, part: part)
    }

    init(
        rolesBy roles: @escaping @Sendable (AdminArguments) -> Set<Role>, merge: @escaping Merge,
        further: Further? = nil, part: @escaping AdminRoute.Report
    ) {
        self.roles = roles
        self.merge = merge
        self.further = further
        self.part = part
    }

    /// Gathers the parts of all nodes, or of the one that `node` names, and puts them together.
    /// - Throws: `.notFound` for a node that is not in the list; `.unavailable` without the list of nodes.
    /// - Parameter isPost: whether the parts are answers to an action.
    func gathered(
        _ services: AdminServices, _ arguments: AdminArguments, path: String, isPost: Bool = false
    ) async throws -> JSONValue {
        var gathered = try await services.peers.gather(
            path, query: arguments.query, only: arguments["node"].map { NodeID($0) }, roles: roles(arguments),
            body: isPost ? JSONObject() : nil
        ) { try await part(services, arguments) }
        if let further { gathered.add(try await further(services, gathered.parts, arguments)) }
        return json(gathered, askedOf: services.inspector.nodeID, arguments)
    }

    /// Puts the report together: what `merge` makes of the parts, then `node`, the one that was asked, and
    /// `unreachable`, those of which the part is missing.
    func json(_ gathered: GatheredParts, askedOf node: NodeID, _ arguments: AdminArguments) -> JSONValue {
        var object = merge(gathered.parts.sorted { $0.node < $1.node }, arguments)
        object["node"] = .string(node.name)
        object["unreachable"] = .array(
            gathered.unreachable.sorted { $0.node < $1.node }.map {
                ["node": .string($0.node.name), "reason": .string($0.reason)]
            })
        return .object(object)
    }
}

/// One node's part of a report.
package struct ReportPart: Sendable, Hashable {
    package let node: NodeID
    package let json: JSONValue

    /// The rows below a name, each with the node's id.
    func rows(_ name: String) -> [JSONObject] {
        (json[name]?.arrayValue ?? []).compactMap { row in
            guard let row = row.objectValue else { return nil }
            return JSONObject([("node", .string(node.name))] + row.entries.map { ($0.key, $0.value) })
        }
    }
}

/// A node whose part is missing.
package struct UnreachableNode: Sendable, Hashable {
    package let node: NodeID
    /// The reason for people, as far as it is known.
    package let reason: String
}

/// The parts of a report, and the nodes that sent none.
package struct GatheredParts: Sendable, Hashable {
    package var parts: [ReportPart] = []
    package var unreachable: [UnreachableNode] = []

    /// Adds the parts of a further question; a node is named once.
    mutating func add(_ more: GatheredParts) {
        parts += more.parts
        let named = Set(unreachable.map(\.node))
        unreachable += more.unreachable.filter { !named.contains($0.node) }
    }
}
