import LiveModel
import Sessions
import TestSupport
import Testing

/// `docs/reference/errors.md` has the table of `google.rpc.Code`: each code of Freshet once, in the row of its status.
@Suite struct RPCCodeTableTests {
    @Test func tableIsTheSource() throws {
        let text = try Repository.text("docs/reference/errors.md")
        var listed: [String: Int] = [:]
        for row in text.matches(of: #/(?m)^\| (\d+) ([A-Z_]+) \| (.+) \|$/#) {
            let number = Int(row.1) ?? 0
            #expect(RPCCode(rawValue: number)?.name == String(row.2))
            for code in row.3.matches(of: #/`([A-Z_]+)`/#).map({ String($0.1) }) {
                #expect(listed.updateValue(number, forKey: code) == nil, "\(code) stands twice")
            }
        }
        let expected = ErrorCode.allCases.map { ($0.rawValue, RPCCode($0).rawValue) }
        #expect(listed == Dictionary(uniqueKeysWithValues: expected))
    }
}
