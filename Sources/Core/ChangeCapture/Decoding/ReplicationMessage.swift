/// A message of Postgres' output plugin `pgoutput`, protocol version 1: transactions in the order of their commits.
package enum ReplicationMessage: Sendable, Hashable {
    /// - Parameter commitLSN: the position of the commit record.
    case begin(commitLSN: UInt64, committedAtMs: Int64, xid: UInt32)
    /// - Parameter endLSN: the position after the commit record, which a consumer confirms.
    case commit(endLSN: UInt64)
    /// The form of a table's rows, sent before the first change of the table and after the form has changed.
    case relation(Relation)
    case insert(relation: UInt32, new: [Value])
    case update(relation: UInt32, old: OldRow?, new: [Value])
    case delete(relation: UInt32, old: OldRow)
    case truncate(relations: [UInt32])
    /// A message of `pg_logical_emit_message`. One that is not transactional stands outside of transactions.
    case message(isTransactional: Bool, lsn: UInt64, prefix: String, content: [UInt8])
    /// The name of a type that is not built in; nothing follows from it.
    case type
    /// The origin of a transaction that was replicated from elsewhere; nothing follows from it.
    case origin

    package struct Relation: Sendable, Hashable {
        package let id: UInt32
        package let namespace: String
        package let name: String
        package let identity: Identity
        package let columns: [Column]

        package init(id: UInt32, namespace: String, name: String, identity: Identity, columns: [Column]) {
            self.id = id
            self.namespace = namespace
            self.name = name
            self.identity = identity
            self.columns = columns
        }
    }

    /// A table's replica identity: which values of the former row come with an update or delete.
    package enum Identity: UInt8, Sendable {
        /// `d`: those of the primary key, if they differ.
        case primaryKey = 0x64
        /// `n`: none.
        case nothing = 0x6E
        /// `f`: all.
        case full = 0x66
        /// `i`: those of a unique index, if they differ.
        case index = 0x69
    }

    package struct Column: Sendable, Hashable {
        package let name: String
        /// Whether the column belongs to the replica identity.
        package let isIdentity: Bool
        package let typeOID: UInt32
        package let typeModifier: Int32

        package init(name: String, isIdentity: Bool, typeOID: UInt32, typeModifier: Int32 = -1) {
            self.name = name
            self.isIdentity = isIdentity
            self.typeOID = typeOID
            self.typeModifier = typeModifier
        }
    }

    package enum Value: Sendable, Hashable {
        case null
        /// A stored value outside of the row (TOAST) that the update left as it was, and that is therefore not sent.
        case unchanged
        case text([UInt8])
    }

    package enum OldRow: Sendable, Hashable {
        /// The values of the replica identity; the others are not known and stand as nulls.
        case identity([Value])
        case full([Value])
    }
}
