/// A client's preferences for the plain resource, from `Prefer` and `Accept`.
package enum Preferences {
    /// Whether an `Accept` header names exactly this media type, in lower case, and does not refuse it with `q=0` (RFC
    /// 9110 §12.5.1). Ranges such as `*/*` do not count: a stream is sent only on request.
    package static func accepts(_ type: String, in header: String) -> Bool {
        header.split(separator: ",").contains { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard parts.first == type else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return weight != 0
        }
    }

    /// Whether an `Accept` header allows one of the types: by name, or by a range such as `application/*`. An absent or
    /// empty header does.
    package static func allows(_ types: [String], in header: String?) -> Bool {
        guard let header, header.contains(where: { $0 != " " }) else { return true }
        let ranges = types.flatMap { [$0, String($0.prefix { $0 != "/" }) + "/*"] } + ["*/*"]
        return ranges.contains { accepts($0, in: header) }
    }

    /// `Prefer: wait=N` (RFC 7240 §4.3).
    ///
    /// Whole seconds, at most `maximum`; nil if the header requests no wait or is malformed, which the RFC says to
    /// ignore.
    package static func waitMs(_ header: String, maximumMs: Int64) -> Int64? {
        for preference in header.split(separator: ",") {
            let parts = preference.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = parts[0].filter { $0 != " " && $0 != "\t" }.lowercased()
            // Parameters after ";" are ignored.
            let value = parts[1].prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            guard name == "wait", let seconds = Int64(value), seconds > 0 else { continue }
            return min(seconds > Int64.max / 1_000 ? maximumMs : seconds * 1_000, maximumMs)
        }
        return nil
    }

    /// Whether the header `A-IM` names `json-patch` (RFC 3229 §10.5.3).
    package static func acceptsDelta(_ header: String?) -> Bool { accepts(manipulation: "json-patch", in: header) }

    /// Whether the header `A-IM` names `gzip`: patches may be compressed.
    package static func acceptsCompressedDelta(_ header: String?) -> Bool { accepts(manipulation: "gzip", in: header) }

    private static func accepts(manipulation name: String, in header: String?) -> Bool {
        (header ?? "").split(separator: ",").contains { item in
            item.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased() == name
        }
    }
}
