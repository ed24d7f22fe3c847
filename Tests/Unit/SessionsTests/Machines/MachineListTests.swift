import Sessions
import TestSupport
import Testing

/// Every session machine in the sources has a script and is fuzzed.
@Suite struct MachineListTests {
    /// Machines without a `MachineScript`, each with its reason.
    private static let exceptions: [String: String] = [
        "ConnectorStreamMachine<StreamProtobuf>": "the scripts write and read JSON texts (`MachineScript.all`)"
    ]

    private let machines: Set<String>

    init() throws { machines = try SessionMachines.names() }

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
