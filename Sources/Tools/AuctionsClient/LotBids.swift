public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `query LotBids`
    public func lotBids(lotId: UUID) -> Query<LotBids> {
        Query(link, LotBids.Variables(lotId: lotId))
    }
}

public enum LotBids: QueryOperation {
    public static let name = "LotBids"
    public static let revision = "1"
    public static let entities: EntityShape = .object([
        "bids": .entity("Bid", key: ["id"], ["user": .entity("User", key: ["uid"])])
    ])

    public struct Variables: OperationVariables {
        public var lotId: UUID

        public init(lotId: UUID) {
            self.lotId = lotId
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("lotId", lotId)
        }
    }

    public struct Data: OperationData {
        public var bids: [Bid]

        public init(bids: [Bid]) {
            self.bids = bids
        }

        public init(from object: ObjectReader) throws(ResultError) {
            bids = try object.value("bids")
        }

        public struct Bid: EntityData, Identifiable {
            public var id: UUID
            public var amount: Int
            public var placedAt: Timestamp
            public var user: User

            public var key: BidKey { BidKey(id: id) }

            public init(id: UUID, amount: Int, placedAt: Timestamp, user: User) {
                self.id = id
                self.amount = amount
                self.placedAt = placedAt
                self.user = user
            }

            public init(from object: ObjectReader) throws(ResultError) {
                id = try object.value("id")
                amount = try object.value("amount")
                placedAt = try object.value("placedAt")
                user = try object.value("user")
            }

            public struct User: EntityData, Identifiable {
                public var uid: String

                public var key: UserKey { UserKey(uid: uid) }
                public var id: UserKey { key }

                public init(uid: String) {
                    self.uid = uid
                }

                public init(from object: ObjectReader) throws(ResultError) {
                    uid = try object.value("uid")
                }
            }
        }
    }
}
