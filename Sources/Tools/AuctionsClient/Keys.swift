public import Foundation
public import FreshetClient

public struct LotKey: EntityKey {
    public static let entityType = "Lot"
    public static let keyFields = ["id"]
    public var id: UUID

    public init(id: UUID) {
        self.id = id
    }

    public init(from object: ObjectReader) throws(ResultError) {
        id = try object.value("id")
    }

    public var keyValues: [AnyValue] { [AnyValue(id)] }
}

public struct UserKey: EntityKey {
    public static let entityType = "User"
    public static let keyFields = ["uid"]
    public var uid: String

    public init(uid: String) {
        self.uid = uid
    }

    public init(from object: ObjectReader) throws(ResultError) {
        uid = try object.value("uid")
    }

    public var keyValues: [AnyValue] { [AnyValue(uid)] }
}

public struct BidKey: EntityKey {
    public static let entityType = "Bid"
    public static let keyFields = ["id"]
    public var id: UUID

    public init(id: UUID) {
        self.id = id
    }

    public init(from object: ObjectReader) throws(ResultError) {
        id = try object.value("id")
    }

    public var keyValues: [AnyValue] { [AnyValue(id)] }
}

public struct WatchKey: EntityKey {
    public static let entityType = "Watch"
    public static let keyFields = ["userUid", "lotId"]
    public var userUid: String
    public var lotId: UUID

    public init(userUid: String, lotId: UUID) {
        self.userUid = userUid
        self.lotId = lotId
    }

    public init(from object: ObjectReader) throws(ResultError) {
        userUid = try object.value("userUid")
        lotId = try object.value("lotId")
    }

    public var keyValues: [AnyValue] { [AnyValue(userUid), AnyValue(lotId)] }
}
