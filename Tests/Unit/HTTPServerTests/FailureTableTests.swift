import HTTPServer
import LiveModel
import TestSupport
import Testing

/// `docs/reference/errors.md` has the HTTP server's own answers, and they carry the codes that clients know.
@Suite struct FailureTableTests {
    @Test func tableIsTheSource() throws {
        let text = try Repository.text("docs/reference/errors.md")
        var rows: [Int: String] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.filter { $0 != " " } }
            guard cells.count == 3, let status = Int(cells[0]), (100..<600).contains(status) else { continue }
            rows[status] = cells[1].filter { $0 != "`" }
        }
        #expect(rows == HTTPFailureCodes.byStatus)
        for (status, code) in HTTPFailureCodes.byStatus { #expect(ErrorCode(rawValue: code) != nil, "\(status)") }
    }
}
