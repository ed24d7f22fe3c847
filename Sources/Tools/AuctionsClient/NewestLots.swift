public import Foundation
public import FreshetClient

extension AuctionsConnector {
    /// `query NewestLots`
    public func newestLots(offset: Sent<Int> = .absent) -> Query<NewestLots> {
        Query(link, NewestLots.Variables(offset: offset))
    }
}

public enum NewestLots: QueryOperation {
    public static let name = "NewestLots"
    public static let revision = "1"
    public static let entities: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])

    public struct Variables: OperationVariables {
        public var offset: Sent<Int>

        public init(offset: Sent<Int> = .absent) {
            self.offset = offset
        }

        public func encode(to variables: inout VariableWriter) {
            variables.set("offset", offset)
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
            public var grade: Grade?

            public var key: LotKey { LotKey(id: id) }

            public init(id: UUID, title: String, category: String, description: String?, grade: Grade?) {
                self.id = id
                self.title = title
                self.category = category
                self.description = description
                self.grade = grade
            }

            public init(from object: ObjectReader) throws(ResultError) {
                id = try object.value("id")
                title = try object.value("title")
                category = try object.value("category")
                description = try object.value("description")
                grade = try object.value("grade")
            }
        }
    }
}
