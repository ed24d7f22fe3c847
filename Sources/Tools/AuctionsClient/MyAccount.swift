public import FreshetClient

extension AuctionsConnector {
    /// `query MyAccount`
    public func myAccount() -> Query<MyAccount> {
        Query(link, NoVariables())
    }
}

public enum MyAccount: QueryOperation {
    public static let name = "MyAccount"
    public static let revision = "1"
    public static let entities: EntityShape = .object(["user": .entity("User", key: ["uid"])])

    public typealias Variables = NoVariables

    public struct Data: OperationData {
        public var user: User?

        public init(user: User?) {
            self.user = user
        }

        public init(from object: ObjectReader) throws(ResultError) {
            user = try object.value("user")
        }

        public struct User: EntityData, Identifiable {
            public var uid: String
            public var name: String
            public var city: String?
            public var about: String?

            public var key: UserKey { UserKey(uid: uid) }
            public var id: UserKey { key }

            public init(uid: String, name: String, city: String?, about: String?) {
                self.uid = uid
                self.name = name
                self.city = city
                self.about = about
            }

            public init(from object: ObjectReader) throws(ResultError) {
                uid = try object.value("uid")
                name = try object.value("name")
                city = try object.value("city")
                about = try object.value("about")
            }
        }
    }
}
