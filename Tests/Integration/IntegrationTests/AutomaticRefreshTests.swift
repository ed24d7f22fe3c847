import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Queries without a rule through a whole node: changes of the rows that they read refresh them.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AutomaticRefreshTests: SampleProjectTests {
    private static let operations = """

        query Shelf($category: String!) @auth(level: PUBLIC) {
          lots(where: {category: {eq: $category}}, orderBy: [{title: ASC}], limit: 200) { id description }
        }
        query Talk($id: UUID!) @auth(level: PUBLIC) {
          lot(id: $id) { questions_on_lot(orderBy: [{askedAt: DESC}]) { text } }
        }
        mutation Sweep @auth(level: PUBLIC) {
          _execute(sql: "UPDATE lot SET description = 'swept' WHERE category = 'Art'", params: [])
        }
        """

    private func withNode(
        _ mode: String,
        _ body: (_ address: ServerAddress, _ project: String, _ admin: ServerAddress) async throws -> Void
    ) async throws {
        try await withProject { project, folder in
            try append(Self.operations, to: project + "/connector/queries.gql")
            try "automatic: \(mode)\n".write(
                toFile: project + "/refresh.yaml", atomically: true, encoding: .utf8)
            let settings = ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"]
            let node = try FreshetProcess(["dev", project, "--no-reload"] + settings.flatMap { ["--set", $0] })
            let line = try await node.line(containing: "Freshet serves")
            let admin = try await node.line(containing: "admin status").split(separator: " ")
                .first { $0.hasPrefix("http") }?.dropLast()
            try await body(
                try ServerAddress(String(line.split(separator: " ").last ?? "")), project,
                try ServerAddress(String(admin ?? "")))
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0, "\(node.output)")
        }
    }

    private func follow(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject
    ) async throws -> (subscriber: Subscriber, first: JSONValue) {
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe(operation, variables)
        let first = try await subscriber.data()
        return (subscriber, first)
    }

    private func descriptions(_ data: JSONValue) -> [String?] {
        (data["lots"]?.arrayValue ?? []).map { $0["description"]?.stringValue }
    }

    @Test func aListWithoutARuleFollowsTheRowsThatItShows() async throws {
        try await withNode("lists") { address, project, _ in
            let list = try JSONParser.parse(try await API.get(address, "Shelf", ["category": "Toys"]).body)
            let toy = try #require(list["data"]?["lots"]?[0]?["id"])
            let (toys, art, talk) = (
                try await follow(address, "Shelf", ["category": "Toys"]),
                try await follow(address, "Shelf", ["category": "Art"]), try await follow(address, "Talk", ["id": toy])
            )
            let (toyCount, artCount) = (descriptions(toys.first).count, descriptions(art.first).count)

            _ = try await API.mutate(
                address, "EditLot", ["id": toy, "category": "Toys", "description": "shiny"])
            _ = try await toys.subscriber.data { descriptions($0).contains("shiny") }
            // A row leaves one list and enters the other. The mutation does not say which it leaves.
            _ = try await API.mutate(address, "MoveLot", ["id": toy, "from": "Toys", "to": "Art"])
            _ = try await toys.subscriber.data { descriptions($0).count == toyCount - 1 }
            _ = try await art.subscriber.data { descriptions($0).count == artCount + 1 }
            // A row of a nested list.
            _ = try await API.mutate(
                address, "AskQuestion", ["lotId": toy, "name": "ann", "text": "How old is it?"])
            _ = try await talk.subscriber.data {
                $0["lot"]?["questions_on_lot"]?[0]?["text"]?.stringValue == "How old is it?"
            }
            // Native SQL may write anything.
            _ = try await API.mutate(address, "Sweep", [:])
            _ = try await art.subscriber.data { descriptions($0).allSatisfy { $0 == "swept" } }
            // Rows that follow a deleted one.
            _ = try await API.mutate(address, "WithdrawLot", ["id": toy])
            _ = try await talk.subscriber.data { $0["lot"]?.isNull == true }
            _ = try await art.subscriber.data { descriptions($0).count == artCount }

            let explanation = try await output(["explain", project, "Shelf"])
            #expect(explanation.contains("automatic: changes of lot where category = $category"), "\(explanation)")
            #expect(explanation.contains("class: exact, only rows of the group count"), "\(explanation)")
            #expect(explanation.contains("it writes rows of lot, which the query reads"), "\(explanation)")
            #expect(explanation.contains("it has native SQL, which may write any row"), "\(explanation)")
        }
    }

    /// A rule may name a mutation of another connector.
    @Test func aMutationOfAnotherConnectorRefreshesAList() async throws {
        try await withProject { project, folder in
            try append(
                """

                query Shelf($category: String!)
                  @auth(level: PUBLIC)
                  @refresh(
                    onMutationExecuted: {
                      operation: "office/Describe"
                      condition: "mutation.variables.category == request.variables.category"
                    }
                  ) {
                  lots(where: {category: {eq: $category}}, orderBy: [{title: ASC}], limit: 200) { id description }
                }
                """, to: project + "/connector/queries.gql")
            try FileManager.default.createDirectory(
                atPath: project + "/office", withIntermediateDirectories: true)
            try "connectorId: office\n".write(
                toFile: project + "/office/connector.yaml", atomically: true, encoding: .utf8)
            try """
            mutation Describe($id: UUID!, $category: String!, $text: String!) @auth(level: PUBLIC) {
              lot_updateMany(where: {id: {eq: $id}, category: {eq: $category}}, data: {description: $text})
            }
            """.write(toFile: project + "/office/office.gql", atomically: true, encoding: .utf8)
            let configuration = try String(contentsOfFile: project + "/dataconnect.yaml", encoding: .utf8)
            try configuration.replacing(#""./connector""#, with: #""./connector", "./office""#)
                .write(toFile: project + "/dataconnect.yaml", atomically: true, encoding: .utf8)
            try "automatic: off\n".write(toFile: project + "/refresh.yaml", atomically: true, encoding: .utf8)
            let settings = ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"]
            let node = try FreshetProcess(["dev", project, "--no-reload"] + settings.flatMap { ["--set", $0] })
            let line = try await node.line(containing: "Freshet serves")
            let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            let toys = try await follow(address, "Shelf", ["category": "Toys"])
            let toy = try #require(toys.first["lots"]?[0]?["id"])
            _ = try await API.mutate(
                address, "Describe", ["id": toy, "category": "Toys", "text": "described"], connector: "office")
            _ = try await toys.subscriber.data { descriptions($0).contains("described") }
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0, "\(node.output)")
        }
    }

    /// Changes that no rule notices are counted, with the rule that would have noticed.
    @Test func observingCountsWhatNoRuleNotices() async throws {
        try await withNode("observe") { address, _, admin in
            let toys = try await follow(address, "Shelf", ["category": "Toys"])
            let toy = try #require(toys.first["lots"]?[0]?["id"])
            for text in ["one", "two"] {
                _ = try await API.mutate(
                    address, "EditLot", ["id": toy, "category": "Toys", "description": .string(text)])
            }
            let row = try await waitFor("two changes that no rule noticed") {
                let answer = try JSONParser.parse(
                    try await HTTPCall.send(.GET, admin, path: "/admin/rules").body)
                return answer["operations"]?.arrayValue?.first {
                    $0["operation"] == "auctions/Shelf" && $0["unnoticed"]?.intValue == 2
                }
            }
            #expect(row["unnoticedMutations"]?[0]?["mutation"] == "auctions/EditLot", "\(row)")
            #expect(row["unnoticedMutations"]?[0]?["rule"]?.stringValue?.contains("EditLot") == true, "\(row)")
        }
    }

    @Test func withoutItAListStaysAsItWas() async throws {
        try await withNode("off") { address, project, _ in
            let list = try JSONParser.parse(try await API.get(address, "Shelf", ["category": "Toys"]).body)
            let toy = try #require(list["data"]?["lots"]?[0]?["id"])
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("Shelf", ["category": "Toys"], id: "shelf")
            _ = try await subscriber.data(id: "shelf")
            subscriber.subscribe("GetLot", ["id": toy], id: "lot")
            _ = try await subscriber.data(id: "lot")
            // While a node takes its shards, it may run twice what is followed just then.
            _ = try await API.mutate(address, "EditLot", ["id": toy, "category": "Toys", "description": "dull"])
            _ = try await subscriber.message { $0["id"] == "lot" }
            _ = try await API.mutate(
                address, "EditLot", ["id": toy, "category": "Toys", "description": "shiny"])
            let message = try await subscriber.message { _ in true }
            #expect(message["id"] == "lot", "\(message)")
            // A second follower gets what the first one has.
            let again = try await follow(address, "Shelf", ["category": "Toys"])
            #expect(!descriptions(again.first).contains("shiny"))
            #expect(subscriber.pendingMessages == 0)
            let check = try await output(["check", project])
            #expect(check.contains("refresh-missing"), "\(check)")
        }
    }
}
