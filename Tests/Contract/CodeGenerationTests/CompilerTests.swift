import CodeGeneration
import Foundation
import TestSupport
import Testing

/// Compilers and Node accept the generated code, against stubs of the public surfaces of the SDKs in `Stubs`.
@Suite struct CompilerTests {
    private static let stubs = Repository.path("Tests/Contract/CodeGenerationTests/Stubs")

    /// A folder with the generated packages where Node finds them.
    private static func nodeFolder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let generated = try TemporaryFolder()
        try Gallery.write(to: generated)
        let run = try Run(
            "sh", ["\(stubs)/TypeScript/prepare.sh", "\(stubs)/TypeScript", generated.path, folder.path], in: "/")
        try #require(run.status == 0, "\(run.output)")
        return folder
    }

    /// `usage.ts` also says which uses must not compile.
    @Test func strictTypeScriptAcceptsDeclarationsAndTheirUse() throws {
        let folder = try Self.nodeFolder()
        let run = try Run(
            "tsc",
            [
                "--strict", "--noEmit", "--module", "node16", "--moduleResolution", "node16", "--target", "es2022",
                "usage.ts",
            ], in: folder.path)
        #expect(run.status == 0, "\(run.output) (deploy/setup.sh generate installs tsc)")
    }

    @Test func nodeRunsGeneratedCode() throws {
        let folder = try Self.nodeFolder()
        let run = try Run("node", ["run.js"], in: folder.path)
        #expect(run.status == 0, "\(run.output)")
        let path = Repository.path("Tests/Contract/CodeGenerationTests/Stubs/TypeScript/calls.txt")
        #expect(run.output == (try String(contentsOfFile: path, encoding: .utf8)))
    }

    /// Code for Freshet's SDK is compiled with the tests, as the modules `GalleryClient` and `AuctionsClient`.
    @Test func swiftCompilesAgainstTheSurfaceOfFirebasesSDK() throws {
        let (output, version) = ("swift-firebase", "5")
        let folder = try TemporaryFolder()
        try Gallery.write(to: folder)
        for module in ["FirebaseCore", "FirebaseDataConnect"] {
            let run = try Run(
                "swiftc",
                [
                    "-swift-version", version, "-parse-as-library", "-emit-module", "-module-name", module,
                    "-emit-module-path", "\(module).swiftmodule", "\(Self.stubs)/\(module)/\(module).swift",
                ], in: folder.path)
            try #require(run.status == 0, "\(run.output)")
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/\(output)/Sources")
            .map { "\(output)/Sources/\($0)" }
        let run = try Run(
            "swiftc",
            [
                "-swift-version", version, "-enable-upcoming-feature", "MemberImportVisibility", "-typecheck", "-I",
                ".",
            ] + files.sorted(), in: folder.path)
        #expect(run.status == 0 && !run.output.contains("warning:"), "\(run.output)")
    }

    @Test(arguments: ["swift-firebase", "swift"])
    func packageManifestsAreValid(_ output: String) throws {
        let folder = try TemporaryFolder()
        try Gallery.write(to: folder)
        let run = try Run("swift", ["package", "--package-path", output, "dump-package"], in: folder.path)
        #expect(run.status == 0, "\(run.output)")
    }
}
