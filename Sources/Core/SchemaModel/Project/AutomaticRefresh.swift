/// Which queries of a project refresh without a rule, when rows that they read change: `refresh.yaml` beside
/// `dataconnect.yaml`.
package struct AutomaticRefresh: Sendable, Hashable {
    package enum Mode: String, Sendable, CaseIterable {
        case off
        /// No query; changes that no rule notices are counted.
        case observe
        /// Queries that name no mutation in `@refresh`.
        case lists
        /// All queries, also beside their rules.
        case all
    }

    /// The place where changes of rows are noticed.
    package enum Source: String, Sendable, CaseIterable {
        /// The service's own mutations, which tell them in their events.
        case mutations
        /// The database's write-ahead log, which has those of all writers.
        case wal
        /// Mutations, and the log for what these do not tell.
        case both
    }

    /// A mode for the operations that a pattern matches: `movies/Top*`.
    package struct Override: Sendable, Hashable {
        package let pattern: String
        package let mode: Mode

        package init(pattern: String, mode: Mode) {
            self.pattern = pattern
            self.mode = mode
        }

        /// Whether the pattern matches `connector/Operation`; `*` stands for any characters.
        func matches(_ name: String) -> Bool {
            let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
            guard let first = parts.first, let last = parts.last else { return false }
            if parts.count == 1 { return name == pattern }
            guard name.hasPrefix(first), name.hasSuffix(last), name.count >= first.count + last.count else {
                return false
            }
            var rest = name.dropFirst(first.count).dropLast(last.count)
            for part in parts.dropFirst().dropLast() {
                guard let found = rest.firstRange(of: part) else { return false }
                rest = rest[found.upperBound...]
            }
            return true
        }
    }

    package var mode: Mode
    package var source: Source
    /// The last that matches decides.
    package var overrides: [Override]

    package init(mode: Mode, source: Source = .mutations, overrides: [Override] = []) {
        self.mode = mode
        self.source = source
        self.overrides = overrides
    }

    package static let off = AutomaticRefresh(mode: .off)

    package func mode(connector: String, operation: String) -> Mode {
        overrides.last { $0.matches("\(connector)/\(operation)") }?.mode ?? mode
    }
}
