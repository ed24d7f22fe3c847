public import FreshetClient

extension AuctionsConnector {
    /// `mutation SaveAccount`
    public func saveAccount(
        name: String, city: Sent<String> = .absent, about: Sent<String> = .absent
    ) -> Mutation<SaveAccount> {
        Mutation(link, SaveAccount.Variables(name: name, city: city, about: about))
    }
}

public enum SaveAccount: MutationOperation {
    public static let name = "SaveAccount"

    public struct Variables: OperationVariables {
        public var name: String
        public var city: Sent<String>
        public var about: Sent<String>

        public init(name: String, city: Sent<String> = .absent, about: Sent<String> = .absent) {
            self.name = name
            self.city = city
            self.about = about
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("name", name)
            variables.set("city", city)
            variables.set("about", about)
        }
    }

    public struct Data: OperationData {
        public var user_upsert: UserKey

        public init(user_upsert: UserKey) {
            self.user_upsert = user_upsert
        }

        public init(from object: ObjectReader) throws(ResultError) {
            user_upsert = try object.value("user_upsert")
        }
    }
}
