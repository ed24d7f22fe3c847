public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `query ClosingSoon`
    public func closingSoon(limit: Sent<Int> = .absent) -> Query<ClosingSoon> {
        Query(link, ClosingSoon.Variables(limit: limit))
    }
}

public enum ClosingSoon: QueryOperation {
    public static let name = "ClosingSoon"
    public static let revision = "1"
    public static let entities: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])

    public struct Variables: OperationVariables {
        public var limit: Sent<Int>

        public init(limit: Sent<Int> = .absent) {
            self.limit = limit
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("limit", limit)
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
            public var highestBid: Int?
            public var closesAt: Timestamp

            public var key: LotKey { LotKey(id: id) }

            public init(id: UUID, title: String, category: String, highestBid: Int?, closesAt: Timestamp) {
                self.id = id
                self.title = title
                self.category = category
                self.highestBid = highestBid
                self.closesAt = closesAt
            }

            public init(from object: ObjectReader) throws(ResultError) {
                id = try object.value("id")
                title = try object.value("title")
                category = try object.value("category")
                highestBid = try object.value("highestBid")
                closesAt = try object.value("closesAt")
            }
        }
    }
}
