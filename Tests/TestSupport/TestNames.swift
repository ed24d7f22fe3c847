import Foundation

/// The names of the tests below `Tests`, as `Suite/test`: of functions that `@Test` stands before, not of helpers.
package enum TestNames {
    /// - Throws: Foundation's error when a file cannot be read.
    package static func all() throws -> Set<String> {
        try Repository.files(below: "Tests", ending: ".swift")
            .reduce(into: []) { $0.formUnion(names(in: try Repository.text($1))) }
    }

    /// Suites are the types that begin at the start of a line.
    package static func names(in text: String) -> [String] {
        guard text.contains("@Test") else { return [] }
        var (suite, isTest) = ("", false)
        var names: [String] = []
        for line in text.split(separator: "\n") {
            if !line.hasPrefix(" "), let type = line.firstMatch(of: #/\b(?:struct|class|actor|enum|extension) (\w+)/#) {
                suite = String(type.output.1)
            }
            if line.contains(#/@Test(?:\W|$)/#) { isTest = true }
            if isTest, let function = line.firstMatch(of: #/\bfunc (\w+)/#) {
                names.append("\(suite)/\(function.output.1)")
                isTest = false
            }
        }
        return names
    }
}
