package import HTTPServer
package import LiveModel
import NIOHTTP1

/// Refuses requests that a web page of another site may have caused: for ports that admit everyone who reaches them.
///
/// A page can send requests to loopback addresses. Its browser names the page in `Origin`, or without one, as for
/// images, links and `no-cors` reads, says in `Sec-Fetch-Site` that the page is of another site (Fetch Metadata Request
/// Headers §2.4); a page whose own name was rebound to a loopback address is named in `Host`; forms and requests
/// without a preflight cannot have the media type of JSON (Fetch standard §2.2.2).
package enum CrossSiteCheck {
    /// The hosts that requests may name.
    package enum Hosts {
        case loopback
        /// Also IP addresses, names without a dot and names below `.local` and `.internal`, none of which a public
        /// name server rebinds: emulators and containers reach `freshet dev` by such names.
        case local
    }

    /// Returns why the request is refused; nil if it may be performed.
    package static func refusal(of request: HTTPRequest, hosts: Hosts) -> RequestError? {
        if let host = request.header("host"), !isAllowed(hostOfAuthority(host), hosts) {
            return RequestError(.permissionDenied, "the Host \"\(shown(host))\" is not one of this machine")
        }
        if let origin = request.header("origin") {
            // Another loopback name counts as another site, but its pages are of this machine.
            guard isLoopback(origin: origin) else {
                return RequestError(.permissionDenied, "pages of \"\(shown(origin))\" may not use this port")
            }
        } else if request.header("sec-fetch-site")?.lowercased() == "cross-site" {
            return RequestError(.permissionDenied, "pages of other sites may not use this port")
        }
        if request.method == .POST, !isJSON(request.header("content-type")) {
            return RequestError(.unsupportedMediaType, "send content-type: application/json")
        }
        return nil
    }

    /// Whether a page of this origin is served by this machine.
    package static func isLoopback(origin: String) -> Bool {
        // "scheme://host[:port]" (RFC 6454 §7.1).
        let parts = origin.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasSuffix(":"), parts[1].isEmpty else { return false }
        return isLoopback(hostOfAuthority(parts[2]))
    }

    private static func isAllowed(_ host: Substring, _ hosts: Hosts) -> Bool {
        switch hosts {
        case .loopback: isLoopback(host)
        case .local:
            isLoopback(host) || (host.hasPrefix("[") && host.hasSuffix("]")) || isIPv4(host) || !host.contains(".")
                || [".local", ".internal"].contains { host.lowercased().hasSuffix($0) }
        }
    }

    private static func isLoopback(_ host: some StringProtocol) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]"
            || (name.hasPrefix("127.") && isIPv4(name))
    }

    private static func isIPv4(_ host: some StringProtocol) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Returns the host of `host[:port]`, an IPv6 address with its brackets (RFC 3986 §3.2.2).
    private static func hostOfAuthority(_ authority: some StringProtocol) -> Substring {
        let text = Substring(authority)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            return rest.isEmpty || rest.hasPrefix(":") ? text[...end] : text
        }
        return text.prefix { $0 != ":" }
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        let mediaType = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        return mediaType == "application/json" || (mediaType.hasPrefix("application/") && mediaType.hasSuffix("+json"))
    }

    private static func shown(_ text: String) -> Substring { text.prefix(100) }
}
