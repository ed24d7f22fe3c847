import Foundation
import JSON
import ProtocolClients
import Testing

/// Results of which a failed `@check` withholds a part, through a whole node.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PartialResultTests: SampleProjectTests {
    private static let operations = """

        query Guarded($id: UUID!, $locked: UUID!) @auth(level: PUBLIC) {
          open: lot(id: $id) { title description }
          locked: lot(id: $locked) { title category @check(expr: "this == 'Open'", message: "locked") }
        }
        """

    @Test func rowsReadBeforeAFailedCheckAreFollowed() async throws {
        try await withProject { project, folder in
            try append(Self.operations, to: project + "/connector/queries.gql")
            let settings = ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"]
            let node = try FreshetProcess(["dev", project, "--no-reload"] + settings.flatMap { ["--set", $0] })
            let line = try await node.line(containing: "Freshet serves")
            let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Toys"]).body)
            let lots = try #require(list["data"]?["lots"]?.arrayValue)
            let (open, locked) = (try #require(lots[0]["id"]), try #require(lots[1]["id"]))
            let variables: JSONObject = ["id": open, "locked": locked]
            func update(_ id: JSONValue, _ category: String, _ description: String) async throws {
                let answer = try await API.mutate(
                    address, "EditLot",
                    ["id": id, "category": .string(category), "description": .string(description)])
                #expect(answer.status == 200, "\(answer)")
            }

            let read = try await API.get(address, "Guarded", variables)
            let partial = try JSONParser.parse(read.body)
            #expect(read.status == 200 && partial["data"]?["open"]?["title"] == lots[0]["title"], "\(partial)")
            #expect(partial["data"]?["locked"] == .null)
            #expect(partial["errors"]?.arrayValue?.count == 1 && partial["errors"]?[0]?["message"] == "locked")
            #expect(partial["errors"]?[0]?["path"] == ["locked", "category"])

            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("Guarded", variables)
            func payload(_ fits: (JSONValue) -> Bool) async throws -> JSONValue {
                let message = try await subscriber.message { message in
                    message["type"]?.stringValue == "next" && fits(message["payload"] ?? .null)
                }
                return message["payload"] ?? .null
            }
            #expect(try await payload { _ in true } == partial)
            // The steps before the check continue to be followed.
            try await update(open, "Toys", "first")
            let first = try await payload { $0["data"]?["open"]?["description"] == "first" }
            #expect(first["data"]?["locked"] == .null && first["errors"] == partial["errors"])
            // The check holds, and does not any more.
            try await update(locked, "Open", "seen")
            let whole = try await payload { $0["errors"] == nil }
            #expect(whole["data"]?["locked"]?["category"] == "Open" && whole["data"]?["open"] == first["data"]?["open"])
            try await update(locked, "Closed", "unseen")
            #expect(try await payload { $0["errors"] != nil } == first)

            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0, "\(node.output)")
        }
    }
}
