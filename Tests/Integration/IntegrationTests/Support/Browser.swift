import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import ProtocolClients
import Synchronization
import TestSupport
import Testing

/// A headless Chromium, driven over its DevTools protocol.
final class Browser: Sendable {
    private let process: FreshetProcess
    private let address: ServerAddress
    private let profile: String

    /// Nil when the machine has none; `make test` installs one where there is apt-get.
    static let path: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Returns the path of a browser for a test of which a part needs one.
    /// - Throws: without a browser, as the test would pass for less.
    static func required() throws -> String {
        try #require(path, "there is no Chromium on this machine; make test installs one")
    }

    private init(process: FreshetProcess, address: ServerAddress, profile: String) {
        self.process = process
        self.address = address
        self.profile = profile
    }

    static func with<T>(_ path: String, _ body: (Browser) async throws -> T) async throws -> T {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let profile = temporary.path + "/data"
        let process = try FreshetProcess(
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--remote-debugging-port=0", "--remote-allow-origins=*", "--user-data-dir=\(profile)", "about:blank",
            ], executable: path)
        do {
            // DevTools listening on ws://127.0.0.1:PORT/devtools/browser/ID
            let line = try await process.line(containing: "DevTools listening on ws://")
            let host = line.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first.map(String.init)
            let browser = Browser(
                process: process, address: try ServerAddress("http://\(host ?? "")"), profile: profile)
            let value = try await body(browser)
            await process.crash()
            return value
        } catch {
            await process.crash()
            throw error
        }
    }

    /// Collects what goes wrong in a page, from its first script on.
    private static let watch = """
        window.faults = [];
        addEventListener("error", event => faults.push(String(event.message)));
        addEventListener("unhandledrejection", event => faults.push(String(event.reason)));
        addEventListener("securitypolicyviolation", event => faults.push(event.violatedDirective));
        const { error } = console;
        console.error = (...values) => { faults.push(values.join(" ")); error(...values); };
        """

    /// Opens a window on a page. `faults` there has the errors of its scripts.
    func open(_ url: String, width: Int = 1_280, height: Int = 900) async throws -> Window {
        let response = try await HTTPCall.send(.PUT, address, path: "/json/new?about%3Ablank")
        let target = try JSONParser.parse(response.body)
        guard let debugger = target["webSocketDebuggerUrl"]?.stringValue, let page = URL(string: debugger) else {
            throw BrowserError(what: "no window: \(target)")
        }
        let window = try await Window.connect(address, path: page.path)
        _ = try await window.call("Page.enable", [:])
        // A window in the background has the focus of its own page, too.
        _ = try await window.call("Emulation.setFocusEmulationEnabled", ["enabled": true])
        _ = try await window.call(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .int(Int64(width)), "height": .int(Int64(height)), "deviceScaleFactor": 1,
                "mobile": .bool(width < 500),
            ])
        _ = try await window.call("Page.addScriptToEvaluateOnNewDocument", ["source": .string(Self.watch)])
        // Answers when the new document has taken the place of the empty one.
        _ = try await window.call("Page.navigate", ["url": .string(url)])
        return window
    }

    /// One tab.
    final class Window: Sendable {
        private struct State {
            var nextID: Int64 = 1
            var waiters: [Int64: CheckedContinuation<JSONValue, any Error>] = [:]
        }

        private final class Box: Sendable {
            let state = Mutex(State())
        }

        private let socket: GraphQLSocket
        private let box: Box

        private init(socket: GraphQLSocket, box: Box) {
            self.socket = socket
            self.box = box
        }

        fileprivate static func connect(_ address: ServerAddress, path: String) async throws -> Window {
            let box = Box()
            let socket = try await GraphQLSocket.connect(
                address, path: path, on: MultiThreadedEventLoopGroup.singleton.next()
            ) {
                .init(
                    onText: { text in
                        guard let message = try? JSONParser.parse(Array(text.readableBytesView)),
                            case .int(let id)? = message["id"]
                        else { return }
                        box.state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: message)
                    },
                    onClose: { _, reason in
                        let waiters = box.state.withLock { state in
                            defer { state.waiters = [:] }
                            return state.waiters.values
                        }
                        for waiter in waiters { waiter.resume(throwing: BrowserError(what: "closed: \(reason)")) }
                    })
            }
            return Window(socket: socket, box: box)
        }

        fileprivate func call(_ method: String, _ parameters: JSONObject) async throws -> JSONValue {
            let message = try await withCheckedThrowingContinuation { continuation in
                let id = box.state.withLock { state in
                    defer { state.nextID += 1 }
                    state.waiters[state.nextID] = continuation
                    return state.nextID
                }
                socket.send(
                    JSONWriter.compact(
                        ["id": .int(id), "method": .string(method), "params": .object(parameters)]))
            }
            guard let result = message["result"] else { throw BrowserError(what: "\(message)") }
            return result
        }

        /// The value of an expression in the page; a promise is awaited.
        @discardableResult
        func evaluate(_ expression: String) async throws -> JSONValue {
            let result = try await call(
                "Runtime.evaluate",
                ["expression": .string(expression), "awaitPromise": true, "returnByValue": true])
            if let exception = result["exceptionDetails"] { throw BrowserError(what: "\(exception)") }
            return result["result"]?["value"] ?? .null
        }

        /// How long `value(when:)` waits.
        private static let limitMs = 60_000

        /// The value of `expression` as soon as it is not falsy, looked at after every change of the page.
        /// - Throws: with what the page shows, if that takes too long.
        func value(when expression: String) async throws -> JSONValue {
            try await evaluate(
                """
                new Promise((resolve, reject) => {
                  const look = () => {
                    const value = (\(expression));
                    if (value) { observer.disconnect(); clearTimeout(limit); resolve(value); }
                  };
                  const observer = new MutationObserver(look);
                  const limit = setTimeout(() => {
                    observer.disconnect();
                    reject(new Error(["not there", \(JSONValue.string(expression)), location.hash,
                      document.body.innerText.slice(0, 2000)].join("\\n")));
                  }, \(Self.limitMs));
                  observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
                  look();
                })
                """)
        }

        /// Puts text in place of what a text control has, as typing does.
        func type(_ text: String, into selector: String) async throws {
            try await evaluate(
                "(control => { control.focus(); control.select(); })(document.querySelector(`\(selector)`))")
            _ = try await call("Input.insertText", ["text": .string(text)])
        }

        /// Presses and releases a key, such as `Tab`, `Enter` or `ArrowDown`.
        func press(_ key: String, shift: Bool = false) async throws {
            let codes: [String: Int64] = [
                "Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowUp": 38, "ArrowDown": 40,
            ]
            var event: JSONObject = [
                "key": .string(key == "Space" ? " " : key), "code": .string(key),
                "windowsVirtualKeyCode": .int(codes[key] ?? 0), "modifiers": .int(shift ? 8 : 0),
            ]
            event["text"] = ["Enter": "\r", "Space": " "][key].map { .string($0) }
            for type in [event["text"] == nil ? "rawKeyDown" : "keyDown", "keyUp"] {
                event["type"] = .string(type)
                _ = try await call("Input.dispatchKeyEvent", event)
            }
        }

        /// Shows the page as people see it who prefer light or dark.
        func prefer(colorScheme: String) async throws {
            _ = try await call(
                "Emulation.setEmulatedMedia",
                ["features": [["name": "prefers-color-scheme", "value": .string(colorScheme)]]])
        }

        /// Makes it the visible one of the browser's tabs.
        func bringToFront() async throws { _ = try await call("Page.bringToFront", [:]) }

        /// A PNG of what the window shows.
        func screenshot() async throws -> Data {
            let result = try await call("Page.captureScreenshot", ["format": "png"])
            return Data(base64Encoded: result["data"]?.stringValue ?? "") ?? Data()
        }
    }
}

struct BrowserError: Error {
    let what: String
}
