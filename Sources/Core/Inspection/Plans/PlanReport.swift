package import JSON

/// A plan of Postgres (`EXPLAIN (FORMAT JSON)`): the rows that a statement reads, in plain words.
package struct PlanReport: Sendable {
    /// The scans of one table with the same filter.
    package struct Scan: Sendable, Hashable {
        package let table: String
        /// `Seq Scan`, `Index Scan`, …
        package let node: String
        package let index: String?
        package let filter: String?
        /// Rows that the scan passes on: as measured, else as estimated.
        package let rowsKept: Double
        /// Rows that it reads; nil if the plan does not tell: the size of the table is missing.
        package let rowsRead: Double?

        /// Whether it reads the whole table.
        package var isWhole: Bool { node == "Seq Scan" }
        /// Whether an index would spare most of what it reads.
        package var isWasteful: Bool {
            guard isWhole, let rowsRead else { return false }
            return rowsRead >= PlanReport.rowsMin && rowsRead >= PlanReport.wasteFactor * max(1, rowsKept)
        }
    }

    /// The number of rows below which reading a whole table is appropriate.
    package static let rowsMin = 1_000.0
    /// A scan is wasteful if it reads so many times the rows that it keeps.
    package static let wasteFactor = 10.0

    package let plan: JSONValue
    package let isMeasured: Bool
    package private(set) var scans: [Scan] = []
    /// Milliseconds; nil unless measured.
    package let executionMs: Double?
    package let planningMs: Double?

    /// - Parameters:
    ///   - explained: the answer to `EXPLAIN (FORMAT JSON)`.
    ///   - tableRows: the number of rows of each table, as far as it is known.
    package init(_ explained: JSONValue, tableRows: [String: Double]) {
        let root = explained[0] ?? explained
        plan = root["Plan"] ?? .null
        executionMs = root["Execution Time"]?.doubleValue
        planningMs = root["Planning Time"]?.doubleValue
        isMeasured = plan["Actual Rows"] != nil
        visit(plan, tableRows)
    }

    /// The tables that a plan scans entirely.
    package static func wholeTables(_ explained: JSONValue) -> Set<String> {
        Set(PlanReport(explained, tableRows: [:]).scans.filter(\.isWhole).map(\.table))
    }

    private mutating func visit(_ node: JSONValue, _ tableRows: [String: Double]) {
        if let table = node["Relation Name"]?.stringValue, let kind = node["Node Type"]?.stringValue {
            let loops = max(1, node["Actual Loops"]?.doubleValue ?? 1)
            let removed =
                (node["Rows Removed by Filter"]?.doubleValue ?? 0)
                + (node["Rows Removed by Index Recheck"]?.doubleValue ?? 0)
            let measured = node["Actual Rows"]?.doubleValue
            let kept = (measured ?? node["Plan Rows"]?.doubleValue ?? 0) * loops
            let read = measured.map { ($0 + removed) * loops } ?? (kind == "Seq Scan" ? tableRows[table] : nil)
            scans.append(
                Scan(
                    table: table, node: kind, index: Self.index(node),
                    filter: node["Filter"]?.stringValue ?? node["Index Cond"]?.stringValue
                        ?? node["Recheck Cond"]?.stringValue, rowsKept: kept, rowsRead: read))
        }
        for child in node["Plans"]?.arrayValue ?? [] { visit(child, tableRows) }
    }

    /// A bitmap scan has its index in a node below.
    private static func index(_ node: JSONValue) -> String? {
        let own = node["Index Name"]?.stringValue
        return own ?? (node["Node Type"] == "Bitmap Heap Scan" ? node["Plans"]?[0]?["Index Name"]?.stringValue : nil)
    }

    /// One sentence for each scan that reads far more than it keeps; else one that says there is none.
    package var sentences: [String] {
        let wasteful = scans.filter(\.isWasteful)
        if wasteful.isEmpty {
            return [
                scans.isEmpty
                    ? "The plan reads no table."
                    : "No scan reads far more rows than it keeps"
                        + (isMeasured ? "." : ", as Postgres estimates.")
            ]
        }
        return wasteful.map { scan in
            let about = isMeasured ? "" : "about "
            return "\(scan.table) is read whole: \(about)\(Self.text(scan.rowsRead ?? 0)) rows, of which "
                + "\(about)\(Self.text(scan.rowsKept)) are kept"
                + (scan.filter.map { "; an index could serve \($0)." } ?? ".")
        }
    }

    private static func text(_ rows: Double) -> String { "\(Int(rows.rounded()))" }

    package var json: JSONObject {
        var object: JSONObject = [
            "sentences": .array(sentences.map(JSONValue.string)), "isMeasured": .bool(isMeasured),
            "rowsRead": sum(\.rowsRead), "rowsKept": .double(scans.reduce(0) { $0 + $1.rowsKept }),
        ]
        object["planningMs"] = planningMs.map(JSONValue.double)
        object["executionMs"] = executionMs.map(JSONValue.double)
        object["scans"] = .array(
            scans.map { scan in
                var row: JSONObject = ["table": .string(scan.table), "node": .string(scan.node)]
                row["index"] = scan.index.map(JSONValue.string)
                row["filter"] = scan.filter.map(JSONValue.string)
                row["rowsRead"] = scan.rowsRead.map(JSONValue.double) ?? .null
                row["rowsKept"] = .double(scan.rowsKept)
                row["isWasteful"] = .bool(scan.isWasteful)
                return .object(row)
            })
        object["plan"] = plan
        return object
    }

    /// The sum of what is known; null if nothing is.
    private func sum(_ member: (Scan) -> Double?) -> JSONValue {
        let known = scans.compactMap(member)
        return known.isEmpty ? .null : .double(known.reduce(0, +))
    }
}
