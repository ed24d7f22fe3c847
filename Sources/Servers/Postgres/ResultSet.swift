import CLibpq

/// A statement's result. Values stay in libpq's memory and are copied only on access; a single row keeps the whole
/// result alive.
package struct ResultSet: Sendable {
    let storage: ResultStorage

    /// The names of the select list, in order; empty for a statement that returns no rows.
    package var columns: [String] {
        (0..<storage.columnCount).map { index in
            PQfname(storage.pointer, Int32(index)).map { String(cString: $0) } ?? ""
        }
    }

    package var rows: Rows { Rows(storage: storage) }

    /// The number of rows inserted, updated, deleted, merged or selected; 0 for other commands.
    package var affectedRows: Int {
        PQcmdTuples(storage.pointer).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The command tag: `INSERT 0 1`, `COMMIT`, …
    var commandTag: String {
        PQcmdStatus(storage.pointer).map { String(cString: $0) } ?? ""
    }
}

/// The rows of a result.
package struct Rows: RandomAccessCollection, Sendable {
    let storage: ResultStorage

    package var startIndex: Int { 0 }
    package var endIndex: Int { storage.rowCount }

    package subscript(position: Int) -> Row {
        precondition(position >= 0 && position < storage.rowCount, "row \(position) of \(storage.rowCount)")
        return Row(storage: storage, row: Int32(position))
    }
}

/// One row. Columns are numbered from 0; accessing one that does not exist traps.
package struct Row: Sendable {
    let storage: ResultStorage
    let row: Int32

    package var count: Int { storage.columnCount }

    /// The value in text format, copied; nil for NULL.
    package subscript(column: Int) -> [UInt8]? {
        withBytes(column) { $0.map { Array($0) } }
    }

    /// Passes the value in text format to `body` without copying it; nil for NULL. The buffer is valid only in the
    /// closure.
    package func withBytes<T>(_ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> T) rethrows -> T {
        precondition(column >= 0 && column < storage.columnCount, "column \(column) of \(storage.columnCount)")
        defer { withExtendedLifetime(storage) {} }
        let column = Int32(column)
        if PQgetisnull(storage.pointer, row, column) != 0 { return try body(nil) }
        let length = Int(PQgetlength(storage.pointer, row, column))
        return try body(UnsafeRawBufferPointer(start: PQgetvalue(storage.pointer, row, column), count: length))
    }

    package func isNull(_ column: Int) -> Bool {
        withBytes(column) { $0 == nil }
    }

    package func string(_ column: Int) -> String? {
        withBytes(column) { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The value as an integer; nil for NULL and for anything else.
    package func int(_ column: Int) -> Int? {
        string(column).flatMap { Int($0) }
    }

    /// The value as a boolean; nil for NULL and for anything but Postgres' `t` and `f`.
    package func bool(_ column: Int) -> Bool? {
        withBytes(column) { bytes in
            switch bytes.flatMap({ $0.count == 1 ? $0[0] : nil }) {
            case UInt8(ascii: "t"): true
            case UInt8(ascii: "f"): false
            default: nil
            }
        }
    }
}

/// Owns one `PGresult`. Unchecked: libpq does not write to a complete result ("can be passed around freely between
/// threads"), the pointer is not shared, and it is freed with the last row or result set.
final class ResultStorage: @unchecked Sendable {
    let pointer: OpaquePointer
    let rowCount: Int
    let columnCount: Int

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
        rowCount = Int(PQntuples(pointer))
        columnCount = Int(PQnfields(pointer))
    }

    deinit {
        PQclear(pointer)
    }
}
