import JSON
package import LiveModel
import Operations
import SchemaModel

/// A mutation that is ready to run.
package struct MutationCall: Sendable {
    /// Whether all steps run in one transaction.
    package let isTransaction: Bool
    /// The steps in the order of the operation. Fields excluded by `@skip` or `@include` have none.
    package let steps: [MutationStep]

    package init(isTransaction: Bool, steps: [MutationStep]) {
        self.isTransaction = isTransaction
        self.steps = steps
    }

    /// The primary keys of the rows that the whole call writes.
    package var keysWritten: [EntityKey] { steps.flatMap(\.keysWritten) }

    /// The changes of rows that the whole call makes, besides those of stored images; nil if it may change any, or if
    /// none are recorded.
    package var rows: RowChanges? {
        steps.reduce(into: RowChanges()) { $0 = $0?.adding($1.rows) }
    }
}

extension MutationCall {
    /// Whether a step stores images of rows in its transaction (`RowImages`).
    package var hasImages: Bool { steps.contains(where: \.storesImages) }
}

/// One statement of a mutation.
package struct MutationStep: Sendable {
    package enum Kind: Sendable, Hashable {
        case write
        /// `query { … }`
        case read
    }

    package enum ResultKind: Sendable, Hashable {
        /// One row with one column, the JSON text of the field; no row or NULL means null.
        case json
        /// The field's value is the number of affected rows that Postgres reports.
        case affectedCount
    }

    package let responseKey: String
    package let statement: MutationStatement
    /// `$1…$n` in text form; nil for NULL.
    package let parameters: [String?]
    /// The keys that are known before the step runs.
    package let keysWritten: [EntityKey]
    /// The changes of rows, as far as they are known before the step runs; nil if it may change any row of any table,
    /// or if none are recorded.
    package let rows: RowChanges?
    /// Whether the statement stores further changes in its transaction (`RowImages`).
    package var storesImages = false
    /// Set if the result has a second column for `keysWritten(returned:)`.
    var returnedKey: ReturnedKey?
    package var returnsKey: Bool { returnedKey != nil }
    package let resultKind: ResultKind
    package let kind: Kind

    package var sql: String { statement.sql }

    /// Returns all keys that the step wrote.
    /// - Parameter returned: the second column of the result row; nil if there is none.
    package func keysWritten(returned: [UInt8]?) -> [EntityKey] {
        guard let key = returned.flatMap({ returnedKey?.key(of: $0) }), !keysWritten.contains(key) else {
            return keysWritten
        }
        return keysWritten + [key]
    }
}

/// Decodes the key of a row that Postgres computed in an update.
struct ReturnedKey: Sendable {
    private let table: Table
    private let scalars: ScalarCoercion
    private let masks: KeyMasks

    init(_ table: Table, _ scalars: ScalarCoercion) {
        self.table = table
        self.scalars = scalars
        masks = KeyMasks(table)
    }

    /// Returns nil if a value is out of the language's range, such as a date before the first supported year.
    /// - Parameter text: a JSON array of the key's values in wire form.
    func key(of text: [UInt8]) -> EntityKey? {
        guard let found = (try? JSONParser.parse(text))?.arrayValue, found.count == table.keyColumns.count else {
            return nil
        }
        let values = zip(table.keyColumns, found).compactMap { try? scalars.coerce($1, to: $0.type) }
        return values.count == found.count ? EntityKey(table: table.name, values: masks.masked(values)) : nil
    }
}

extension MutationStep {
    /// The statement that also adds the field to the answer that the transaction has stored so far (`AnswerSQL`); for
    /// steps whose result is JSON.
    package var storingSQL: String {
        precondition(resultKind == .json, "\(responseKey) has no text to store")
        return AnswerSQL.storing(statement, member: parameters.count + 1)
    }

    /// The parameters of `storingSQL`.
    package var storingParameters: [String?] {
        parameters + [",\(JSONValue.string(responseKey).text):"]
    }
}

/// The SQL text of a step. There is one object per shape of an operation, so that what callers derive from the text can
/// be cached by identity.
package final class MutationStatement: Sendable {
    package let sql: String
    /// The place of the `SELECT` after the common table expressions, in bytes; nil if there are none that write.
    let resultOffset: Int?
    /// Whether the statement was created for a single request and will not occur again.
    package let isUnique: Bool

    init(_ sql: String, resultOffset: Int? = nil, isUnique: Bool = false) {
        self.sql = sql
        self.resultOffset = resultOffset
        self.isUnique = isUnique
    }
}
