import CodeGeneration
import Testing

/// The rules by which generated files replace others.
@Suite struct FolderPlanTests {
    private let name = "movies/javascriptSdk"

    private func plan(
        _ files: [GeneratedFile], known: OutputManifest?, present: [String: String], isForced: Bool = false,
        retired: Set<String> = []
    ) -> FolderPlan {
        FolderPlan([name: files], retired: retired, known: known, isForced: isForced) { path in
            present[path].map { Array($0.utf8) }
        }
    }

    private func manifest(_ files: [String: String], of name: String? = nil) -> OutputManifest {
        OutputManifest(outputs: [name ?? self.name: files.mapValues { OutputManifest.digest($0.utf8) }])
    }

    @Test func newFolderGetsAllFilesAndAManifest() {
        let plan = plan([GeneratedFile("a", "1"), GeneratedFile("b", "2")], known: nil, present: [:])
        #expect(plan.changes == [.create(GeneratedFile("a", "1")), .create(GeneratedFile("b", "2"))])
        #expect(plan.manifest == manifest(["a": "1", "b": "2"]))
        #expect(plan.changesManifest && !plan.isUpToDate)
    }

    @Test func equalFilesAreNotTouched() {
        let plan = plan([GeneratedFile("a", "1")], known: manifest(["a": "1"]), present: ["a": "1", "mine": "x"])
        #expect(plan.isUpToDate)
    }

    @Test func ownFilesAreReplacedAndRemoved() {
        let plan = plan(
            [GeneratedFile("a", "2")], known: manifest(["a": "1", "old": "1"]),
            present: ["a": "1", "old": "1", "mine": "x"])
        #expect(plan.changes == [.replace(GeneratedFile("a", "2")), .remove(path: "old")])
        #expect(plan.manifest == manifest(["a": "2"]))
    }

    @Test func foreignFileIsRefused() {
        let plan = plan([GeneratedFile("a", "1")], known: nil, present: ["a": "mine"])
        #expect(plan.refusals == [.foreign(path: "a")])
        #expect(plan.changes.isEmpty)
    }

    @Test func foreignFileWithTheSameContentIsAdopted() {
        let plan = plan([GeneratedFile("a", "1")], known: nil, present: ["a": "1"])
        #expect(plan.refusals.isEmpty && plan.changes.isEmpty && plan.changesManifest)
    }

    @Test func editedFileIsRefused() {
        let plan = plan([GeneratedFile("a", "2")], known: manifest(["a": "1"]), present: ["a": "edited"])
        #expect(plan.refusals == [.edited(path: "a")])
    }

    @Test func forceReplacesForeignAndEditedFiles() {
        let plan = plan(
            [GeneratedFile("a", "2"), GeneratedFile("b", "2")], known: manifest(["a": "1"]),
            present: ["a": "edited", "b": "mine"], isForced: true)
        #expect(plan.refusals.isEmpty)
        #expect(plan.changes.map(\.path) == ["a", "b"])
    }

    @Test func editedFileThatIsNoLongerGeneratedStays() {
        let plan = plan([], known: manifest(["old": "1"]), present: ["old": "edited"])
        #expect(plan.kept == ["old"])
        #expect(plan.changes.isEmpty)
        #expect(plan.manifest == manifest([:]))
    }

    @Test func otherOutputsOfTheFolderStay() {
        var known = manifest(["a": "1"])
        known.outputs["movies/llmTools"] = ["tools.json": OutputManifest.digest("t".utf8)]
        let present = ["a": "1", "tools.json": "t"]
        let plan = plan([GeneratedFile("a", "1")], known: known, present: present)
        #expect(plan.isUpToDate)
        #expect(plan.manifest.outputs["movies/llmTools"] != nil)
    }

    @Test func outputsThatTheProjectNoLongerHasAreRemoved() {
        var known = manifest(["a": "1"])
        known.outputs["movies/llmTools"] = ["tools.json": OutputManifest.digest("t".utf8)]
        let plan = plan(
            [GeneratedFile("a", "1")], known: known, present: ["a": "1", "tools.json": "t"],
            retired: ["movies/llmTools"])
        #expect(plan.changes == [.remove(path: "tools.json")])
        #expect(plan.manifest == manifest(["a": "1"]))
    }

    @Test func manifestReadsItsOwnText() {
        let manifest = manifest(["a/b.ts": "1", "c": "2"])
        #expect(OutputManifest(Array(manifest.text.utf8)) == manifest)
        #expect(OutputManifest(Array("{}".utf8)) == nil)
        let outside = self.manifest(["/etc/a": "1", "../a": "1", "a/../../b": "1", "a/b": "1"])
        #expect(OutputManifest(Array(outside.text.utf8)) == self.manifest(["a/b": "1"]))
        #expect(OutputManifest(Array("no JSON".utf8)) == nil)
    }
}
