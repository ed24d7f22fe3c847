public import FreshetClient

extension AuctionsConnector {
    /// `mutation CreateLot`
    public func createLot(
        title: String, category: String, description: Sent<String> = .absent, startPrice: Int, closesAt: Timestamp
    ) -> Mutation<CreateLot> {
        Mutation(
            link,
            CreateLot.Variables(
                title: title, category: category, description: description, startPrice: startPrice, closesAt: closesAt))
    }
}

public enum CreateLot: MutationOperation {
    public static let name = "CreateLot"

    public struct Variables: OperationVariables {
        public var title: String
        public var category: String
        public var description: Sent<String>
        public var startPrice: Int
        public var closesAt: Timestamp

        public init(
            title: String, category: String, description: Sent<String> = .absent, startPrice: Int, closesAt: Timestamp
        ) {
            self.title = title
            self.category = category
            self.description = description
            self.startPrice = startPrice
            self.closesAt = closesAt
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("title", title)
            variables.set("category", category)
            variables.set("description", description)
            variables.set("startPrice", startPrice)
            variables.set("closesAt", closesAt)
        }
    }

    public struct Data: OperationData {
        public var lot_insert: LotKey

        public init(lot_insert: LotKey) {
            self.lot_insert = lot_insert
        }

        public init(from object: ObjectReader) throws(ResultError) {
            lot_insert = try object.value("lot_insert")
        }
    }
}
