import Foundation
import TestSupport
import Testing

/// Pages lead where they say: links, anchors, paths, commands and settings.
@Suite struct LinkTests {
    @Test func everyLinkLeadsToAFileAndItsAnchor() throws {
        var count = 0
        for page in try Page.all() {
            for link in page.links {
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let folder = URL(filePath: "/" + page.path).deletingLastPathComponent()
                let target = parts[0].isEmpty ? "/" + page.path : folder.appending(path: parts[0]).standardized.path
                let path = String(target.dropFirst())
                #expect(Repository.exists(path), "\(page.path): \(link)")
                guard parts.count == 2, path.hasSuffix(".md"), Repository.exists(path) else { continue }
                let anchors = try Page(path).anchors
                #expect(anchors.contains(parts[1]), "\(page.path): \(link)")
            }
        }
        #expect(count > 100)
    }

    /// A path from the root, not the end of a relative one.
    private static var path: Regex<(Substring, Substring)> {
        #/(?:^|[\s`(])((?:Sources|Tests|config|deploy|docs)/[A-Za-z0-9_+./-]*[A-Za-z0-9_])/#
    }

    @Test func everyPathThatIsMentionedExists() throws {
        var count = 0
        for page in try Page.all() {
            for line in page.lines {
                // The changelog names files that are gone.
                if page.path == "CHANGELOG.md" { continue }
                for match in line.matches(of: Self.path) {
                    let path = String(match.1)
                    count += 1
                    #expect(Repository.exists(path), "\(page.path): \(path)")
                }
            }
        }
        #expect(count > 50)
    }

    /// Pages may name a file without its folder.
    @Test func everySwiftFileThatIsNamedExists() throws {
        let files = ["Sources", "Tests"].flatMap { Repository.files(below: $0, ending: ".swift") }
        let names = Set(files.map { URL(filePath: "/" + $0).lastPathComponent })
        for page in try Page.all() {
            // Generated code of an example is not here.
            for span in page.codeSpans
            where span.hasSuffix(".swift") && !span.contains("/") && !span.hasSuffix("+Firebase.swift") {
                #expect(names.contains(span), "\(page.path): \(span)")
            }
        }
    }

    @Test func everyCommandOfMakeExists() throws {
        let targets = Set(try Repository.text("Makefile").matches(of: /(?m)^([a-z-]+):/).map { String($0.1) })
        for page in try Page.all() {
            for span in page.codeSpans {
                guard let match = span.firstMatch(of: /^make ([a-z-]+)/) else { continue }
                #expect(targets.contains(String(match.1)), "\(page.path): \(span)")
            }
        }
    }

    /// `section.name` of a section of settings is a setting.
    @Test func everySettingThatIsNamedExists() throws {
        var section = ""
        var settings: Set<String> = []
        var sections: Set<String> = []
        for line in try Repository.text("config/freshet.yaml").components(separatedBy: "\n") {
            if let match = line.firstMatch(of: /^([a-z]+):/) { section = String(match.1) }
            sections.insert(section)
            if let match = line.firstMatch(of: /^  #([A-Za-z.]+):/) { settings.insert("\(section).\(match.1)") }
        }
        #expect(settings.count > 100)
        var count = 0
        for page in try Page.all() {
            for span in page.codeSpans {
                guard let match = span.wholeMatch(of: /([a-z]+)\.([a-z][A-Za-z.]*[A-Za-z])/),
                    sections.contains(String(match.1)), !Self.endings.contains(String(match.2))
                else { continue }
                count += 1
                #expect(settings.contains(span), "\(page.path): \(span)")
            }
        }
        #expect(count > 50)
    }

    /// Endings of names that are files, or members of `auth` in expressions.
    private static let endings: Set<String> = ["uid", "token", "yaml", "cfg", "md", "gql"]
}
