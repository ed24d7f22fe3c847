import CEL
import Foundation
import TestSupport
import Testing

/// The corpus of `make fuzz-parsers` and every input that it ever tripped over: see `Tests/Fuzz`.
@Suite struct FuzzCorpusTests {
    private static let folder = Repository.path("Tests/Fuzz/Corpus/cel")

    private struct Nothing: Activation {
        func value(ofVariable index: Int) -> Value? { .null }
    }

    @Test func endsInAValueOrAnError() throws {
        let environment = Environment(
            variables: [
                VariableDeclaration(name: "auth", type: .dyn),
                VariableDeclaration(name: "vars", type: .map(.string, .dyn)),
                VariableDeclaration(name: "this", type: .dyn),
            ],
            nullSafePaths: [["auth"]], allowNilLiteral: true)
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
        #expect(!files.isEmpty)
        for file in files.sorted() {
            let bytes = try #require(FileManager.default.contents(atPath: "\(Self.folder)/\(file)"))
            guard let program = try? environment.compile(String(decoding: bytes, as: UTF8.self)) else { continue }
            _ = try? program.evaluate(Nothing())
            #expect(!program.conjuncts.isEmpty)
        }
    }
}
