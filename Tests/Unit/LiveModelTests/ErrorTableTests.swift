import LiveModel
import TestSupport
import Testing

/// `docs/reference/errors.md` is the documented table of codes: each code once, with its status and whether to retry.
@Suite struct ErrorTableTests {
    @Test func tableIsTheSource() throws {
        let text = try Repository.text("docs/reference/errors.md")
        var rows: [String: (status: String, retry: String)] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.filter { $0 != " " && $0 != "`" } }
            #expect(rows[cells[0]] == nil, "\(cells[0]) stands twice")
            rows[cells[0]] = (cells[1], cells[2])
        }
        #expect(Set(rows.keys) == Set(ErrorCode.allCases.map(\.rawValue)))
        for code in ErrorCode.allCases {
            #expect(rows[code.rawValue]?.status == String(code.httpStatus), "\(code.rawValue)")
            #expect(rows[code.rawValue]?.retry == (code.isRetryable ? "yes" : "no"), "\(code.rawValue)")
        }
    }
}
