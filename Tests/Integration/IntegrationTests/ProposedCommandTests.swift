import ArgumentParser
import Inspection
import TestSupport
import Testing

@testable import freshet

/// Verdicts of why propose commands that the program takes.
@Suite struct ProposedCommandTests {
    /// Parses a command as the program would, without running it.
    private static func parse(_ command: String) throws -> any ParsableCommand {
        let words = try shellWords(command)
        #expect(words.first == "freshet", "\(command)")
        return try Freshet.parseAsRoot(Array(words.dropFirst()))
    }

    /// Splits a line as a shell does, as far as proposed commands need it.
    private static func shellWords(_ line: String) throws -> [String] {
        var words: [String] = [""]
        var isQuoted = false
        var characters = Array(line)[...]
        while let character = characters.popFirst() {
            switch (character, isQuoted) {
            case ("'", _): isQuoted.toggle()
            case ("\\", false): words[words.count - 1] += characters.popFirst().map(String.init) ?? ""
            case (" ", false): words.append("")
            default: words[words.count - 1].append(character)
            }
        }
        try #require(!isQuoted, "\(line)")
        return words
    }

    private static func commands(_ change: (inout WhyFacts) -> Void) -> [String] {
        var facts = WhyFacts(nowMs: 10_000)
        change(&facts)
        return WhyVerdict(facts).next.filter { $0.hasPrefix("freshet ") }
    }

    @Test(arguments: ["ann", "it's me", "a b", "$(reboot)", "*", "grün"])
    func theRevocationOfAnyUserCanBeLifted(_ uid: String) throws {
        let commands = Self.commands { ($0.isUserRevoked, $0.askedUid) = (true, uid) }
        #expect(commands.count == 2)
        let unrevoke = try #require(try Self.parse(commands[1]) as? AdminCommand.Unrevoke)
        #expect(unrevoke.kind == "uid" && unrevoke.value == uid)
    }

    @Test func aStalledSessionIsEndedOnItsNode() throws {
        let session = SessionReport(
            session: "gateway-1/17", protocolName: "sse", peer: "", uid: "", sinceMs: 0, version: "", subscription: "",
            key: "", digest: nil, position: nil, pendingBytes: 9, queuedResults: 1, tokenExpiresInMs: nil,
            isSuspended: false)
        let commands = Self.commands {
            $0.gateways = [
                GatewayReport(
                    node: "gateway-1", isDraining: false, digest: nil, position: nil, bytes: 0, isAwaitingOwner: false,
                    lingersMs: 0, sessions: [session])
            ]
        }
        let command = try #require(commands.first)
        let end = try #require(try Self.parse(command) as? AdminCommand.EndSession)
        #expect(end.session == 17 && end.connection.node == "gateway-1")
    }

    @Test func aDrainedNodeIsUndrained() throws {
        let commands = Self.commands { ($0.askedSession, $0.drained) = ("gateway-1/1", ["gateway-1"]) }
        let command = try #require(commands.first)
        let undrain = try #require(try Self.parse(command) as? AdminCommand.Undrain)
        #expect(undrain.node == "gateway-1")
    }

    /// The commands that stand in the source as they are.
    @Test func everyProposedCommandIsOne() throws {
        var count = 0
        for file in ["WhyVerdict.swift", "WhyVerdict+Difference.swift", "WhyVerdict+Ends.swift"] {
            let source = try Repository.text("Sources/Core/Inspection/Why/\(file)")
            for match in source.matches(of: #/"(freshet [^"\\]*)"/#) {
                #expect(throws: Never.self, "\(match.1)") { try Self.parse(String(match.1)) }
                count += 1
            }
        }
        #expect(count > 5)
    }
}
