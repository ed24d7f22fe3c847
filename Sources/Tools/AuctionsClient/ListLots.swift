public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `query ListLots`
    public func listLots(category: Sent<String> = .absent) -> Query<ListLots> {
        Query(link, ListLots.Variables(category: category))
    }
}

public enum ListLots: QueryOperation {
    public static let name = "ListLots"
    public static let revision = "1"
    public static let entities: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])

    public struct Variables: OperationVariables {
        public var category: Sent<String>

        public init(category: Sent<String> = .absent) {
            self.category = category
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("category", category)
        }
    }

    public struct Data: OperationData {
        public var lots: [Lot]

        public init(lots: [Lot]) {
            self.lots = lots
        }

        public init(from object: ObjectReader) throws(ResultError) {
            lots = try object.value("lots")
        }

        public struct Lot: EntityData, Identifiable {
            public var id: UUID
            public var title: String
            public var category: String
            public var description: String?
            public var highestBid: Int?
            public var closesAt: Timestamp

            public var key: LotKey { LotKey(id: id) }

            public init(
                id: UUID, title: String, category: String, description: String?, highestBid: Int?, closesAt: Timestamp
            ) {
                self.id = id
                self.title = title
                self.category = category
                self.description = description
                self.highestBid = highestBid
                self.closesAt = closesAt
            }

            public init(from object: ObjectReader) throws(ResultError) {
                id = try object.value("id")
                title = try object.value("title")
                category = try object.value("category")
                description = try object.value("description")
                highestBid = try object.value("highestBid")
                closesAt = try object.value("closesAt")
            }
        }
    }
}
