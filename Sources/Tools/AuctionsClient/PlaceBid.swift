public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `mutation PlaceBid`
    public func placeBid(lotId: UUID, category: String, amount: Int) -> Mutation<PlaceBid> {
        Mutation(link, PlaceBid.Variables(lotId: lotId, category: category, amount: amount))
    }
}

public enum PlaceBid: MutationOperation {
    public static let name = "PlaceBid"

    public struct Variables: OperationVariables {
        public var lotId: UUID
        public var category: String
        public var amount: Int

        public init(lotId: UUID, category: String, amount: Int) {
            self.lotId = lotId
            self.category = category
            self.amount = amount
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("lotId", lotId)
            variables.set("category", category)
            variables.set("amount", amount)
        }
    }

    public struct Data: OperationData {
        public var bid_insert: BidKey
        public var lot_update: LotKey?

        public init(bid_insert: BidKey, lot_update: LotKey?) {
            self.bid_insert = bid_insert
            self.lot_update = lot_update
        }

        public init(from object: ObjectReader) throws(ResultError) {
            bid_insert = try object.value("bid_insert")
            lot_update = try object.value("lot_update")
        }
    }
}
