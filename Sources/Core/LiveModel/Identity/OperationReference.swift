/// The connector and name of a stored operation, both case-sensitive.
package struct OperationReference: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let connector: String
    package let operation: String

    package init(connector: String, operation: String) {
        self.connector = connector
        self.operation = operation
    }

    /// - Parameter text: `CONNECTOR/OPERATION`; nil for anything else.
    package init?(_ text: some StringProtocol) {
        let names = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard names.count == 2, !names[0].isEmpty, !names[1].isEmpty else { return nil }
        self.init(connector: String(names[0]), operation: String(names[1]))
    }

    package var description: String { "\(connector)/\(operation)" }

    /// The name as a connector's operations use it: without the connector if it is their own.
    package func name(within connector: String) -> String {
        connector == self.connector ? operation : description
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.connector, left.operation) < (right.connector, right.operation)
    }
}

/// The name of one process of the cluster.
package struct NodeID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    package var description: String { name }

    package static func < (left: Self, right: Self) -> Bool { left.name < right.name }
}

/// The number of a shard, the unit of ownership: 0 ..< shard count.
package struct ShardID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: Int

    package init(_ number: Int) {
        self.number = number
    }

    /// The shards of a cluster with `count` shards, ascending.
    package static func all(count: Int) -> [ShardID] { (0..<count).map(ShardID.init) }

    package var description: String { String(number) }

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}
