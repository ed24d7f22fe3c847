/// The rows in an operation's results: which objects are rows of a table, and which members are their keys. Lists are
/// passed through: the shape of a list is that of its elements.
///
///     .object(["lots": .entity("Lot", key: ["id"])])
///
/// An object is a row only if the server gives it an id (docs/reference/sql-connect.md §4): its whole key is selected,
/// and no alias has the name of another field.
public struct EntityShape: Sendable, Hashable {
    /// The table's type; nil for an object that is no row.
    public let type: String?
    /// The members with the key, in the order of the table's key; `user.uid` is a member of a nested object.
    public let key: [String]
    public let members: [String: EntityShape]

    private init(type: String?, key: [String], members: [String: EntityShape]) {
        self.type = type
        self.key = key
        self.members = members
    }

    /// A value without rows in it.
    public static let none = EntityShape(type: nil, key: [], members: [:])

    /// An object that is no row, with rows in it.
    public static func object(_ members: [String: EntityShape]) -> EntityShape {
        EntityShape(type: nil, key: [], members: members)
    }

    /// A row.
    public static func entity(_ type: String, key: [String], _ members: [String: EntityShape] = [:]) -> EntityShape {
        EntityShape(type: type, key: key, members: members)
    }
}

/// Which connector of which service an app was generated for.
public struct ConnectorIdentity: Sendable, Hashable {
    public let service: String
    public let location: String
    public let connector: String
    /// Changes with every change of the schema or the connector; for support, since the cache compares the revisions
    /// of operations.
    public let revision: String

    public init(service: String, location: String, connector: String, revision: String = "") {
        self.service = service
        self.location = location
        self.connector = connector
        self.revision = revision
    }
}
