import Sessions
import Testing

/// The media type of answers on `/graphql`. The headers are those that clients send.
@Suite struct AcceptedAnswerTests {
    @Test(arguments: [nil, "", " ", "*/*", "application/json", "application/*", "application/json; charset=utf-8"])
    func plainJSONByDefault(header: String?) {
        let accepted = AcceptedAnswer(header)
        #expect(accepted.single == .json && accepted.stream == nil && !accepted.prefersStream)
    }

    @Test(arguments: [
        ("application/graphql-response+json", ResponseType.graphQLResponse),
        ("application/graphql-response+json, application/json", .graphQLResponse),
        ("application/json, application/graphql-response+json", .json),
        ("application/json;q=0.5, application/graphql-response+json;q=0.9", .graphQLResponse),
        ("application/graphql-response+json;q=0, application/json", .json),
        ("Application/GraphQL-Response+JSON", .graphQLResponse),
    ])
    func theHeaviestAndThenTheFirst(header: String, type: ResponseType) {
        #expect(AcceptedAnswer(header).single == type)
    }

    @Test(arguments: [
        // Apollo iOS, Apollo's older documents, gql
        "multipart/mixed;subscriptionSpec=1.0,application/graphql-response+json,application/json",
        "multipart/mixed;boundary=\"graphql\";subscriptionSpec=\"1.0\",application/json",
        "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json",
        "multipart/mixed; boundary=\"graphql\"; subscriptionspec=1.0",
    ])
    func multipartSubscriptionsAreAcceptedInEverySpelling(header: String) {
        let accepted = AcceptedAnswer(header)
        #expect(
            accepted.stream == (header.contains("boundary") ? .multipartWithLengths : .multipart)
                && accepted.prefersStream)
    }

    @Test func incrementalDeliveryIsAnotherProtocol() {
        let apollo = AcceptedAnswer(
            "multipart/mixed;deferSpec=20220824,application/graphql-response+json,application/json")
        #expect(apollo.single == .graphQLResponse && apollo.stream == nil)
        let urql = AcceptedAnswer(
            """
            application/graphql-response+json, application/graphql+json, application/json, text/event-stream, \
            multipart/mixed
            """
        )
        #expect(urql.single == .graphQLResponse && urql.stream == .graphQLSSE && !urql.prefersStream)
    }

    @Test func eventStreamsAreAcceptedByPreference() {
        let only = AcceptedAnswer("text/event-stream")
        #expect(only.single == nil && only.stream == .graphQLSSE && only.prefersStream)
        #expect(AcceptedAnswer("text/event-stream, multipart/mixed").stream == .graphQLSSE, "urql, for subscriptions")
        #expect(AcceptedAnswer("text/event-stream, application/json").prefersStream)
        #expect(!AcceptedAnswer("text/event-stream;q=0.5, application/json").prefersStream)
        #expect(AcceptedAnswer("text/event-stream;q=0").stream == nil)
    }

    @Test(arguments: ["text/html", "image/png, text/*", "application/json;q=0"])
    func otherMediaTypesAreNotAccepted(header: String) {
        let accepted = AcceptedAnswer(header)
        #expect(accepted.single == nil && accepted.stream == nil)
    }
}
