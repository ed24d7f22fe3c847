public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `query GetLot`
    public func getLot(id: UUID) -> Query<GetLot> {
        Query(link, GetLot.Variables(id: id))
    }
}

public enum GetLot: QueryOperation {
    public static let name = "GetLot"
    public static let revision = "1"
    public static let entities: EntityShape = .object(["lot": .entity("Lot", key: ["id"])])

    public struct Variables: OperationVariables {
        public var id: UUID

        public init(id: UUID) {
            self.id = id
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("id", id)
        }
    }

    public struct Data: OperationData {
        public var lot: Lot?

        public init(lot: Lot?) {
            self.lot = lot
        }

        public init(from object: ObjectReader) throws(ResultError) {
            lot = try object.value("lot")
        }

        public struct Lot: EntityData, Identifiable {
            public var id: UUID
            public var title: String
            public var category: String
            public var description: String?
            public var startPrice: Int
            public var highestBid: Int?
            public var bidCount: Int
            public var open: Bool
            public var closesAt: Timestamp

            public var key: LotKey { LotKey(id: id) }

            public init(
                id: UUID, title: String, category: String, description: String?, startPrice: Int, highestBid: Int?,
                bidCount: Int, open: Bool, closesAt: Timestamp
            ) {
                self.id = id
                self.title = title
                self.category = category
                self.description = description
                self.startPrice = startPrice
                self.highestBid = highestBid
                self.bidCount = bidCount
                self.open = open
                self.closesAt = closesAt
            }

            public init(from object: ObjectReader) throws(ResultError) {
                id = try object.value("id")
                title = try object.value("title")
                category = try object.value("category")
                description = try object.value("description")
                startPrice = try object.value("startPrice")
                highestBid = try object.value("highestBid")
                bidCount = try object.value("bidCount")
                open = try object.value("open")
                closesAt = try object.value("closesAt")
            }
        }
    }
}
