/// A metric as declared: what `# HELP` and `# TYPE` say, and what `docs/operations/metrics.md` lists.
package struct MetricFamily: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case counter, gauge
        /// A histogram of seconds.
        case timer = "histogram"
    }

    package struct Label: Sendable, Hashable {
        package let name: String
        /// All values; empty if they are not known beforehand.
        package let values: [String]
    }

    /// The name on `/metrics`. It ends with the unit, if there is one, and that of a counter with `_total`.
    package let name: String
    package let kind: Kind
    /// One sentence without a full stop.
    package let help: String
    package let labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    package var unit: String {
        if name.hasSuffix("_seconds") { return "seconds" }
        return name.hasSuffix("_bytes") ? "bytes" : ""
    }
}
