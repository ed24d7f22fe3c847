import LiveModel
import Sessions
import Testing

@testable import Gateway

@Suite struct TypenameQueryTests {
    private func answer(_ text: String, name: String? = nil) -> String? {
        TypenameQuery(OperationRequest(operationName: name, document: text)).map {
            String(decoding: $0.data, as: UTF8.self)
        }
    }

    @Test func typenameAloneIsAnswered() {
        #expect(answer("{ __typename }") == #"{"__typename":"Query"}"#)
        #expect(answer("query Health { up: __typename }") == #"{"up":"Query"}"#)
        #expect(answer("mutation { __typename }") == #"{"__typename":"Mutation"}"#)
        #expect(answer("query A { __typename } query B { b: __typename }", name: "B") == #"{"b":"Query"}"#)
    }

    @Test(
        arguments: [
            "{ lots { __typename } }", "{ __typename lots { id } }", "subscription { __typename }", "{ __typename",
            "{ ...F } fragment F on Query { __typename }", "{ __typename @include(if: false) }", "{ __typename { a } }",
            "query A { __typename } query B { __typename }", "query ($a: Int) { __typename }", "{ lots { id } }",
        ])
    func anythingElseIsNot(_ text: String) {
        #expect(answer(text) == nil)
    }
}
