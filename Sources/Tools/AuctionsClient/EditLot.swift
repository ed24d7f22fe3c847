public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `mutation EditLot`
    public func editLot(id: UUID, category: String, description: String) -> Mutation<EditLot> {
        Mutation(link, EditLot.Variables(id: id, category: category, description: description))
    }
}

public enum EditLot: MutationOperation {
    public static let name = "EditLot"

    public struct Variables: OperationVariables {
        public var id: UUID
        public var category: String
        public var description: String

        public init(id: UUID, category: String, description: String) {
            self.id = id
            self.category = category
            self.description = description
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("id", id)
            variables.set("category", category)
            variables.set("description", description)
        }
    }

    public struct Data: OperationData {
        public var lot_update: LotKey?

        public init(lot_update: LotKey?) {
            self.lot_update = lot_update
        }

        public init(from object: ObjectReader) throws(ResultError) {
            lot_update = try object.value("lot_update")
        }
    }
}
