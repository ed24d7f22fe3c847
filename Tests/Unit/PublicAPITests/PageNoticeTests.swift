import PublicAPI
import SchemaModel
import Testing

@Suite struct PageNoticeTests {
    private static let page = Array("<html><body><h1>x</h1></body>".utf8)

    @Test func aPageWithoutInvalidOperationsStaysAsItIs() {
        #expect(PageNotice.insert(into: Self.page, operations: [], errors: []) == Self.page)
    }

    @Test func invalidOperationsAndTheirErrorsStandAtTheTop() {
        let error = Diagnostic(
            rule: .unknownField, message: "\"Lot\" has no field \"<b>\"", file: "queries.gql", line: 3, column: 5)
        let text = String(
            decoding: PageNotice.insert(into: Self.page, operations: ["shop/A", "shop/B"], errors: [error]),
            as: UTF8.self)
        #expect(text.hasPrefix("<html><body>\n<div") && text.hasSuffix("</div><h1>x</h1></body>"), "\(text)")
        #expect(text.contains("shop/A, shop/B"))
        #expect(text.contains("queries.gql:3:5: &quot;Lot&quot; has no field &quot;&lt;b&gt;&quot;"))
    }
}
