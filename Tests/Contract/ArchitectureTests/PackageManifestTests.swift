import TestSupport
import Testing

/// `Package.swift` declares what the sources import, and nothing else.
@Suite struct PackageManifestTests {
    /// Dependencies that nothing imports, each with its reason.
    private static let exceptions: [String: String] = [
        "freshet-chaos → freshet": "runs the program", "freshet-bench → freshet": "runs the program",
        "ChaosTests → freshet": "runs the program",
        "IntegrationTests → auction-watcher": "runs the program",
        "IntegrationTests → TutorialSteps": "runs the programs",
    ]

    private let manifest: PackageManifest
    private var targets: [PackageManifest.Target] { manifest.targets }

    init() throws { manifest = try PackageManifest() }

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

    /// An app on Apple's systems builds modules of the SDK and the languages, swift-crypto, which is CryptoKit
    /// there, and GRDB over the system's SQLite. No module of the server, no SwiftNIO, no BoringSSL.
    @Test func appsOnAppleSystemsBuildTheSDKAlone() {
        #expect(manifest.linuxOnly == ["FreshetNIO", "OpenCombine"])
        let products = manifest.libraries.filter { $0.key.hasPrefix("Freshet") }
        #expect(products.count == 6)
        var reached = Set(products.values.joined())
        var next = Array(reached)
        while let name = next.popLast() {
            let dependencies = targets.first { $0.name == name }?.dependencies ?? []
            for dependency in dependencies.subtracting(manifest.linuxOnly) where reached.insert(dependency).inserted {
                next.append(dependency)
            }
        }
        let ours = targets.filter {
            $0.folder.hasPrefix("Sources/SDK/") || $0.folder.hasPrefix("Sources/Languages/")
        }
        #expect(reached.contains("FreshetURLSession"))
        #expect(reached.subtracting(ours.map(\.name)) == ["Crypto", "GRDB"])
    }
}
