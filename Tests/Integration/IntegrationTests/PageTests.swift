import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The first screen of `freshet dev` for the sample, as people use it: two windows of a real browser.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PageTests {
    @Test(.enabled(if: Browser.path != nil, "there is no Chromium on this machine"))
    func aBidInOneWindowShowsInTheOtherAndWhatTheServerDidForIt() async throws {
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
            let bidder = try await browser.open("\(url)/#/auction?category=Books")
            let viewer = try await browser.open("\(url)/#/auction?category=Books", width: 390, height: 800)
            for window in [bidder, viewer] {
                let count = try await window.value(
                    when: """
                        document.querySelector('#state')?.className == 'on'
                        && document.querySelectorAll('#rows tr').length
                        """)
                #expect(count == 10)
            }
            // The first lot is chosen.
            let id = try await bidder.evaluate("document.querySelector('#rows tr').dataset.id").stringValue ?? ""
            for window in [bidder, viewer] {
                _ = try await window.value(when: "!document.querySelector('#amount').disabled")
            }
            try await viewer.showsFocus("auction")
            // The row that changes keeps the focus.
            try await viewer.evaluate("document.querySelector('#rows button').focus()")
            try await bidder.evaluate(
                """
                document.querySelector('[name=name]').value = 'zoe';
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
            // The right half has the bid's five steps, each with its time.
            let steps = try await bidder.value(
                when: """
                    document.querySelectorAll('.step.done').length == 5
                      && [...document.querySelectorAll('.step.done .ms')].every(cell => / ms$/.test(cell.textContent))
                      && document.querySelector('#inside').textContent
                    """)
            #expect(steps.stringValue?.contains("PlaceBid") == true, "\(steps)")
            // The same bid once more is refused, and the reason is shown.
            try await bidder.evaluate(
                """
                document.querySelector('#amount').value = 54321;
                document.querySelector('#bid').requestSubmit();
                """)
            #expect(
                try await bidder.value(when: "document.querySelector('#error').textContent")
                    == "The bid must be higher than the highest.")
            // Markup in a value stays text.
            let edited = try await API.mutate(
                try ServerAddress(url), "EditLot",
                ["id": .string(id), "category": "Books", "description": "Sold <b>here</b>"])
            #expect(edited.status == 200)
            let text = "document.querySelector('.lot .hint').textContent"
            #expect(try await viewer.value(when: "\(text).startsWith('Sold') && \(text)") == "Sold <b>here</b>")
            // Flashes have their colours from the start, and then fade.
            for window in [bidder, viewer] { try await window.keepsRules("auction") }
            let focused = "document.activeElement.closest('tr')?.dataset.id"
            #expect(try await viewer.evaluate(focused) == .string(id))
            if let file = ProcessInfo.processInfo.environment["PAGE_SCREENSHOT"] {
                try await bidder.screenshot().write(to: URL(fileURLWithPath: file))
            }
        }
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0)
    }
}
