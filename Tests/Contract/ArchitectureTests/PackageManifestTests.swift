import TestSupport
import Testing

/// `Package.swift` declares what the sources import, and nothing else.
@Suite struct PackageManifestTests {
    /// Dependencies that nothing imports, each with its reason.
    private static let exceptions: [String: String] = [
        "freshet-chaos → freshet": "runs the program", "freshet-bench → freshet": "runs the program",
        "ChaosTests → freshet": "runs the program",
        "IntegrationTests → auction-watcher": "runs the program",
    ]

    private let targets: [PackageManifest.Target]

    init() throws { targets = try PackageManifest().targets }

    private func imports(below folder: String) throws -> Set<String> {
        let declaration =
            #/^(?:@\w+(?:\([^)]*\))? )*(?:package |public |internal )?import (?:struct |class |enum |func )?(\w+)/#
        var found: Set<String> = []
        for file in Repository.files(below: folder, ending: ".swift") {
            for line in try Repository.text(file).split(separator: "\n") where line.contains("import ") {
                let match = line.drop { $0 == " " }.firstMatch(of: declaration)
                if let match { found.insert(String(match.output.1)) }
            }
        }
        return found
    }

    @Test func theManifestIsRead() throws {
        #expect(targets.count > 80)
        let gateway = try #require(targets.first { $0.name == "Gateway" })
        #expect(gateway.folder == "Sources/Roles/Gateway" && !gateway.isTest)
        #expect(gateway.dependencies.isSuperset(of: ["RoleMachines", "NIOCore", "Logging"]))
        for target in targets { #expect(Repository.exists(target.folder), "\(target.folder)") }
    }

    @Test func everyDependencyIsImported() throws {
        var unused: Set<String> = []
        for target in targets {
            let imported = try imports(below: target.folder)
            for name in target.dependencies.subtracting(imported) { unused.insert("\(target.name) → \(name)") }
        }
        #expect(unused == Set(Self.exceptions.keys))
    }

    @Test func everyImportedModuleIsDeclared() throws {
        let ours = Set(targets.filter { !$0.isTest }.map(\.name)).union([
            "TestSupport", "InMemoryBroker", "LibrarySchema", "CHiredis", "CLibpq", "CLinux",
        ])
        for target in targets {
            let undeclared = try imports(below: target.folder).intersection(ours).subtracting(target.dependencies)
            #expect(undeclared == [], "\(target.name)")
        }
    }
}
