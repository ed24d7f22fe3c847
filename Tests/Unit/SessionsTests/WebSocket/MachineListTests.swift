import Sessions
import TestSupport
import Testing

/// Every machine in the sources stands in the lists of those who test them all.
@Suite struct MachineListTests {
    private static let folder = "Sources/Core/Sessions"
    /// Machines without a `MachineScript`, each with its reason.
    private static let exceptions: [String: String] = [
        "ConnectorStreamMachine<StreamProtobuf>": "the scripts write and read JSON texts (`MachineScript.all`)"
    ]

    private let sources: [String]
    /// The machines as Swift spells their types, a generic one with each type that fits its parameter.
    private let machines: Set<String>

    init() throws {
        let sources = try Repository.files(below: Self.folder, ending: ".swift").map(Repository.text)
        self.sources = sources
        let declaration = #/(?:struct|class|enum|actor|extension) (\w+)(?:<\w+: (\w+)>)?: ([^{]*)\{/#
        func conformers(of name: String) -> [(type: String, parameter: String?)] {
            sources.flatMap { text in
                text.matches(of: declaration)
                    .filter { $0.output.3.split(whereSeparator: { !$0.isLetter }).contains(name[...]) }
                    .map { (String($0.output.1), $0.output.2.map(String.init)) }
            }
        }
        machines = Set(
            conformers(of: "SessionMachine").flatMap { type, parameter in
                parameter.map { conformers(of: $0).map { "\(type)<\($0.type)>" } } ?? [type]
            })
    }

    @Test func theSourcesAreRead() {
        #expect(machines.count >= 5)
        #expect(machines.isSuperset(of: ["GraphQLWSMachine", "ConnectorStreamMachine<StreamJSON>"]))
    }

    @Test func everyMachineHasAScript() {
        let scripted = Set(MachineScript.all.map { "\(type(of: $0.make(SessionOpening(operationsMax: 1))))" })
        #expect(scripted.union(Self.exceptions.keys) == machines)
        #expect(scripted.isDisjoint(with: Self.exceptions.keys))
    }

    @Test func everyMachineIsFuzzed() throws {
        let fuzzer = try Repository.text("Tests/Fuzz/MachinesFuzz.swift")
        for machine in machines.sorted() { #expect(fuzzer.contains("Session(\(machine)("), "\(machine)") }
    }
}
