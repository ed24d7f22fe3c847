import JSON
import LiveModel

/// The generated files of one output folder, so that a later run knows which files are its own.
///
///     {"generator": "freshet", "version": 1, "outputs": {"movies/javascriptSdk": {"index.d.ts": "5b0c…"}}}
package struct OutputManifest: Sendable, Equatable {
    /// The name of the manifest's file in the folder.
    package static let fileName = ".freshet-generated.json"
    static let version: Int64 = 1

    /// The digest of each file by path, by the name of the request.
    package var outputs: [String: [String: String]]

    package init(outputs: [String: [String: String]] = [:]) { self.outputs = outputs }

    /// Returns nil for a text that is no manifest of this version.
    package init?(_ text: [UInt8]) {
        guard let value = try? JSONParser.parse(text), value["generator"]?.stringValue == "freshet",
            value["version"] == .int(Self.version), let outputs = value["outputs"]?.objectValue
        else { return nil }
        self.outputs = [:]
        for output in outputs.entries {
            var files: [String: String] = [:]
            for file in output.value.objectValue?.entries ?? [] where Self.isBelowFolder(file.key) {
                files[file.key] = file.value.stringValue ?? ""
            }
            self.outputs[output.key] = files
        }
    }

    package var text: String {
        let outputs = JSONObject(
            outputs.sorted { $0.key < $1.key }.map { name, files in
                let files = files.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
                return (name, .object(JSONObject(files)))
            })
        return PrettyJSON.text(["generator": "freshet", "version": .int(Self.version), "outputs": .object(outputs)])
    }

    /// Whether a path stays in the folder: an edited manifest must not make a run remove files elsewhere.
    private static func isBelowFolder(_ path: String) -> Bool {
        !path.split(separator: "/", omittingEmptySubsequences: false).contains { $0.isEmpty || $0 == "." || $0 == ".." }
    }

    package static func digest(_ text: some Sequence<UInt8>) -> String { Digest(of: Array(text)).hex }
}
