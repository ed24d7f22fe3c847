import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The page of `freshet dev` as people use it: two windows of a real browser.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PageTests {
    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func aBidAndANewLotInOneWindowShowInTheOther() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        let node = try FreshetProcess([
            "dev", SampleProject.path, "--no-generate", "--set", "http.port=0", "--set", "admin.port=0", "--set",
            "dev.dataDirectory=\(folder)",
        ])
        let line = try await node.line(containing: "Freshet serves")
        let url = String(line.split(separator: " ").last ?? "")
        try await Browser.with(try #require(Browser.path)) { browser in
            let bidder = try await browser.open("\(url)/?category=Books")
            let viewer = try await browser.open("\(url)/?category=Books")
            for window in [bidder, viewer] {
                let count = try await window.value(
                    when: """
                        document.querySelector('#state')?.className == 'on'
                        && document.querySelectorAll('#rows tr').length
                        """)
                #expect(count == 10)
            }
            let id = try await bidder.evaluate("document.querySelector('#rows tr').dataset.id").stringValue ?? ""
            try await bidder.evaluate("document.querySelector('#rows tr').click()")
            _ = try await bidder.value(when: "!document.querySelector('#amount').disabled")
            try await bidder.evaluate(
                """
                document.querySelector('#name').value = 'zoe';
                document.querySelector('#amount').value = 54321;
                document.querySelector('#bid').requestSubmit();
                """)
            let cell = "document.querySelector('tr[data-id=\"\(id)\"] td:nth-child(2)')"
            let shown = try await viewer.value(when: "\(cell).textContent.includes('54,321') && \(cell).textContent")
            #expect(shown == "€ 54,321")
            #expect(try await viewer.evaluate("\(cell).parentElement.className") == "fresh")
            let bids = try await bidder.value(
                when: """
                    document.querySelector('#bids').textContent.includes('54,321')
                      && document.querySelector('#bids td').textContent
                    """)
            #expect(bids == "zoe")
            _ = try await viewer.value(when: "document.querySelector('#board').textContent.includes('zoe')")
            // Both have had two results of the list, and no error.
            for window in [bidder, viewer] {
                _ = try await window.value(when: "document.querySelector('#count').textContent == '2'")
                #expect(try await window.evaluate("document.querySelector('#error').textContent") == "")
            }
            // The same bid once more is refused, and the reason is shown.
            try await bidder.evaluate(
                """
                document.querySelector('#amount').value = 54321;
                document.querySelector('#bid').requestSubmit();
                """)
            #expect(
                try await bidder.value(when: "document.querySelector('#error').textContent")
                    == "The bid must be higher than the highest.")
            // A lot that closes before the others enters the list at its top. Markup in a value stays text.
            try await bidder.evaluate(
                """
                document.querySelector('#newTitle').value = 'Sold <b>here</b>';
                document.querySelector('#newMinutes').value = 20;
                document.querySelector('#create').requestSubmit();
                """)
            let first = "document.querySelector('#rows td').firstChild.textContent"
            #expect(try await viewer.value(when: "\(first).startsWith('Sold') && \(first)") == "Sold <b>here</b>")
            #expect(try await viewer.evaluate("document.querySelectorAll('#rows tr').length") == 10)
            if let file = ProcessInfo.processInfo.environment["PAGE_SCREENSHOT"] {
                try await viewer.screenshot().write(to: URL(fileURLWithPath: file))
            }
        }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }
}
