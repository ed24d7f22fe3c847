import CodeGeneration
import Foundation
import TestSupport
import Testing

/// Code for Freshet's own SDK that is compiled with the project is the generator's output, to the byte.
@Suite struct SwiftClientTests {
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"

    /// The module `AuctionsClient`, as `freshet generate` writes and checks it. `UPDATE_GOLDEN=1` writes it again.
    @Test func theSamplesClientIsGenerated() throws {
        let folder = try TemporaryFolder()
        let client = Repository.path("Sources/Tools/AuctionsClient")
        for name in ["connector", "schema", "dataconnect.yaml", "refresh.yaml"] {
            try FileManager.default.copyItem(
                atPath: Repository.path("config/auctions/\(name)"), toPath: "\(folder.path)/\(name)")
        }
        try folder.write([
            "connector/connector.yaml": """
            connectorId: auctions
            generate:
              swiftSdk:
                outputDir: \(client)
                package: AuctionsClient
                firebaseNames: true
                clientCache: {maxAge: 5s, storage: persistent}

            """
        ])
        if Self.isUpdating {
            let written = try Run(Repository.freshet, ["generate", "swift", folder.path], in: folder.path)
            try #require(written.status == 0, "\(written.output)")
        }
        let run = try Run(Repository.freshet, ["generate", "swift", folder.path, "--check"], in: folder.path)
        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("up to date: 1 output"), "\(run.output)")
    }

    /// The module `GalleryClient`, which has every construct of the language.
    @Test func theGallerysClientIsGenerated() throws {
        let folder = Repository.path("Tests/GalleryClient")
        let generated = try #require(try Gallery.outputs()["swift"]).filter { $0.path.hasPrefix("Sources/") }
        let names = generated.map { String($0.path.dropFirst("Sources/".count)) }
        if Self.isUpdating {
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (name, file) in zip(names, generated) {
                try Data(file.text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names.sorted())
        for (name, file) in zip(names, generated) {
            let recorded = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            #expect(file.text == recorded, "\(name)")
        }
    }
}
