import Foundation
import JSON
import ProtocolClients
import TestSupport
import Testing

/// The console's screen "Why is it stale?", asked as a person asks.
struct WhyPage {
    private let window: Browser.Window

    /// Opens the console of a node.
    static func open(_ browser: Browser, _ admin: AdminClient) async throws -> WhyPage {
        WhyPage(window: try await browser.open("http://\(admin.address.host):\(admin.address.port)/#/home"))
    }

    /// Opens the screen, fills in the form about an operation, and expects the verdict.
    func expect(
        _ code: String, _ operation: String, _ variables: String = "{}", uid: String = "", claims: String = "",
        says cause: String
    ) async throws {
        try await start()
        try await window.evaluate(
            "document.querySelector('[name=operation]').value = '\(operation)'")
        try await window.type(variables, into: "[name=variables]")
        try await window.type(uid, into: "[name=uid]")
        try await window.type(claims, into: "[name=claims]")
        try await submit("operation")
        try await read(code, says: cause)
    }

    /// Pastes the name of a session.
    func expect(_ code: String, session: String, says cause: String) async throws {
        try await start()
        try await window.evaluate("document.querySelector('details:has([name=session]) summary').click()")
        try await window.type(session, into: "[name=session]")
        try await submit("session")
        try await read(code, says: cause)
    }

    /// Pastes the name of a session that follows several live queries, and chooses one.
    func choose(session: String, key: String, _ code: String, says cause: String) async throws {
        try await expect("choose", session: session, says: "name the key of one")
        let link = "document.querySelector('#why a[href$=\"key=\(key)\"]')"
        _ = try await window.value(when: "\(link)?.href")
        try await window.evaluate("\(link).click()")
        try await read(code, says: cause)
    }

    /// Revokes a user on the screen of the sessions.
    func revoke(_ uid: String) async throws {
        try await visit("sessions")
        let button = "document.querySelector('#screen-sessions button[aria-label^=\"Revoke \(uid),\"]')"
        _ = try await window.value(when: "\(button)?.textContent")
        try await window.evaluate("\(button).click()")
        _ = try await window.value(when: "document.querySelector('dialog.confirm')?.open")
        try await window.evaluate("document.querySelector('dialog.confirm [value=yes]').click()")
        let result = try await window.value(when: "document.querySelector('#session-result').textContent")
        #expect(result.stringValue?.contains(uid) == true, "\(result)")
        #expect(try await window.evaluate("faults") == [])
    }

    /// Picks the only session, or live query, that a list has of an operation.
    func expect(_ code: String, from list: String, _ operation: String, says cause: String) async throws {
        try await visit(list)
        let row =
            "[...document.querySelectorAll('#screen-\(list) tbody tr')]"
            + ".find(row => row.textContent.includes('\(operation)'))"
        _ = try await window.value(when: "\(row)?.querySelector('a')?.href")
        try await window.evaluate("\(row).querySelector('a').click()")
        try await read(code, says: cause)
    }

    /// Expects a text on the first screen.
    func home(says text: String) async throws {
        try await visit("home")
        _ = try await window.value(
            when: "document.querySelector('#screen-home')?.textContent.includes(\(JSONValue.string(text)))")
        #expect(try await window.evaluate("faults") == [])
    }

    private func start() async throws {
        try await visit("why")
        _ = try await window.value(
            when: "location.hash === '#/why' && document.querySelector('#why')?.childElementCount === 0")
    }

    /// Follows the link to a screen.
    private func visit(_ screen: String) async throws {
        let link = "document.querySelector('nav a[href=\"#/\(screen)\"]')"
        _ = try await window.value(when: "\(link)?.href")
        try await window.evaluate("\(link).click()")
    }

    private func submit(_ control: String) async throws {
        try await window.evaluate("document.querySelector('details:has([name=\(control)]) button').click()")
    }

    /// Asks again, as the screen proposes, while what is on its way arrives.
    private func read(_ code: String, says cause: String) async throws {
        var last = JSONValue.null
        try await waitFor("\(code) on the page, last \(last)") {
            last = try await window.value(
                when: """
                    location.hash.startsWith('#/why?') && (
                      (found => found && {code: found.dataset.code, text: found.querySelector('strong').textContent})
                        (document.querySelector('#why-verdict'))
                      || (error => error && {error: error.textContent})(document.querySelector('#why .bad')))
                    """)
            if last["code"]?.stringValue == code { return last }
            try await window.evaluate(
                "[...document.querySelectorAll('button')].find(button => button.textContent === 'Ask again')?.click()")
            return Optional.none
        }
        #expect(last["text"]?.stringValue?.contains(cause) == true, "\(last)")
        #expect(try await window.evaluate("faults") == [])
    }
}
