/// The session machines that the sources declare.
package enum SessionMachines {
    private static let folder = "Sources/Core/Sessions"

    /// The machines as Swift spells their types, a generic one with each type that fits its parameter.
    /// - Throws: Foundation's error when a file cannot be read.
    package static func names() throws -> Set<String> {
        let sources = try Repository.files(below: folder, ending: ".swift").map(Repository.text)
        let declaration = #/(?:struct|class|enum|actor|extension) (\w+)(?:<\w+: (\w+)>)?: ([^{]*)\{/#
        func conformers(of name: String) -> [(type: String, parameter: String?)] {
            sources.flatMap { text in
                text.matches(of: declaration)
                    .filter { $0.output.3.split(whereSeparator: { !$0.isLetter }).contains(name[...]) }
                    .map { (String($0.output.1), $0.output.2.map(String.init)) }
            }
        }
        return Set(
            conformers(of: "SessionMachine").flatMap { type, parameter in
                parameter.map { conformers(of: $0).map { "\(type)<\($0.type)>" } } ?? [type]
            })
    }
}
