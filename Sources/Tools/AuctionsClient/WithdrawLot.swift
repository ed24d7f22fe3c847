public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `mutation WithdrawLot`
    public func withdrawLot(id: UUID) -> Mutation<WithdrawLot> {
        Mutation(link, WithdrawLot.Variables(id: id))
    }
}

public enum WithdrawLot: MutationOperation {
    public static let name = "WithdrawLot"

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
        public var lot_delete: LotKey?

        public init(lot_delete: LotKey?) {
            self.lot_delete = lot_delete
        }

        public init(from object: ObjectReader) throws(ResultError) {
            lot_delete = try object.value("lot_delete")
        }
    }
}
