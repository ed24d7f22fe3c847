/// `Prefer: wait=N` (RFC 7240 §4.3).
package enum Preferences {
    /// Whole seconds asked for, bounded by `maximum`; nil when the header asks for no wait or is malformed, which the
    /// RFC wants ignored.
    package static func waitMs(_ header: String, maximumMs: Int64) -> Int64? {
        for preference in header.split(separator: ",") {
            let parts = preference.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = parts[0].filter { $0 != " " && $0 != "\t" }.lowercased()
            // Parameters after ";" are not for us.
            let value = parts[1].prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            guard name == "wait", let seconds = Int64(value), seconds > 0 else { continue }
            return min(seconds > Int64.max / 1_000 ? maximumMs : seconds * 1_000, maximumMs)
        }
        return nil
    }
}
