import Crypto
package import HTTPServer
import NIOCore
import NIOHTTP1

/// The files of the console: one page of plain HTML, CSS and JavaScript modules, which reads the admin API.
///
/// `Files` holds them; SwiftPM compiles their bytes into the program, so nothing has to lie beside it.
package enum ConsoleFiles {
    package struct File: Sendable {
        let mediaType: String
        let body: SharedBody
        /// The first 128 bits of the body's SHA-256.
        let tag: String

        fileprivate init(_ bytes: [UInt8], _ mediaType: String) {
            self.mediaType = mediaType
            body = SharedBody(bytes: bytes)
            tag =
                "\""
                + SHA256.hash(data: bytes).prefix(16).map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.count == 1 ? "0" + digits : digits
                }.joined() + "\""
        }

        /// The size without compression.
        package var byteCount: Int { body.bytes.readableBytes }

        /// Sends the file, or 304 if the client has it.
        package func respond(to request: HTTPRequest, _ exchange: HTTPExchange) {
            let headers: HTTPHeaders = [
                "content-type": mediaType, "etag": tag, "cache-control": "no-cache",
                "content-security-policy": ConsoleFiles.policy, "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
            ]
            // The tag of a compressed body is weak (RFC 9110 §8.8.1); both name the same file.
            let known = (request.header("if-none-match") ?? "").split(separator: ",").map { tag in
                let trimmed = tag.drop { $0 == " " }
                return trimmed.hasPrefix("W/") ? trimmed.dropFirst(2) : trimmed
            }
            if known.contains(tag[...]) {
                exchange.respond(.notModified, headers: headers, body: [])
            } else {
                exchange.respond(.ok, headers: headers, result: body)
            }
        }
    }

    /// Source: Content Security Policy Level 3. Nothing inline, nothing from elsewhere, no frame around it.
    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// Returns the file of a path: `/`, or `/console/NAME`.
    package static func file(_ path: String) -> File? { all[path] }

    package static let all: [String: File] = {
        let (script, style) = ("text/javascript; charset=utf-8", "text/css; charset=utf-8")
        let scripts = [
            "access": PackageResources.access_js,
            "api": PackageResources.api_js,
            "auction": PackageResources.auction_js,
            "confirm": PackageResources.confirm_js,
            "costs": PackageResources.costs_js,
            "deployments": PackageResources.deployments_js,
            "dom": PackageResources.dom_js,
            "flight": PackageResources.flight_js,
            "follower": PackageResources.follower_js,
            "home": PackageResources.home_js,
            "main": PackageResources.main_js,
            "operations": PackageResources.operations_js,
            "schema": PackageResources.schema_js,
            "sender": PackageResources.sender_js,
            "sessions": PackageResources.sessions_js,
            "table": PackageResources.table_js,
            "tail": PackageResources.tail_js,
            "trace": PackageResources.trace_js,
            "trial": PackageResources.trial_js,
            "why": PackageResources.why_js,
        ]
        var files = [
            "/": File(PackageResources.index_html, "text/html; charset=utf-8"),
            "/console/style.css": File(PackageResources.style_css, style),
        ]
        for (name, bytes) in scripts { files["/console/\(name).js"] = File(bytes, script) }
        return files
    }()
}
