import Foundation
import FreshetClient
import JSON
import Testing

/// The page of `freshet dev` as people use it: two windows of a real browser.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PageTests {
    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func anEditInOneWindowShowsInTheOther() async throws {
        let folder = NSTemporaryDirectory() + "freshet-page-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let node = try FreshetProcess([
            "dev", Paths.movies, "--set", "http.port=0", "--set", "admin.port=0", "--set",
            "dev.dataDirectory=\(folder)",
        ])
        let line = try await node.line(containing: "Freshet serves")
        let url = String(line.split(separator: " ").last ?? "")
        try await Browser.with(try #require(Browser.path)) { browser in
            let editor = try await browser.open("\(url)/?genre=Drama")
            let viewer = try await browser.open("\(url)/?genre=Drama")
            for window in [editor, viewer] {
                let count = try await window.value(
                    when:
                        "document.querySelector('#state')?.className == 'on' && document.querySelectorAll('#rows tr').length"
                )
                #expect(count == 10)
            }
            let id = try await editor.evaluate("document.querySelector('#rows tr').dataset.id").stringValue ?? ""
            // Markup in a value stays text.
            try await editor.evaluate(
                """
                document.querySelector('#rows tr').click();
                document.querySelector('#description').value = 'Seen <b>elsewhere</b>';
                document.querySelector('#edit').requestSubmit();
                """)
            let cell = "document.querySelector('tr[data-id=\"\(id)\"] td:nth-child(3)')"
            let shown = try await viewer.value(when: "\(cell).textContent.startsWith('Seen') && \(cell).textContent")
            #expect(shown == "Seen <b>elsewhere</b>")
            #expect(try await viewer.evaluate("\(cell).parentElement.className") == "fresh")
            // Both have had two results, and no error.
            for window in [editor, viewer] {
                _ = try await window.value(when: "document.querySelector('#count').textContent == '2'")
                #expect(try await window.evaluate("document.querySelector('#error').textContent") == "")
            }
            if let file = ProcessInfo.processInfo.environment["PAGE_SCREENSHOT"] {
                try await viewer.screenshot().write(to: URL(fileURLWithPath: file))
            }
        }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }
}
