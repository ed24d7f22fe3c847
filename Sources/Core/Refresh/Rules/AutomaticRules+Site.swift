import JSON
import LiveModel

extension AutomaticRules {
    /// A site with the values of this live query's guards, in the order of `RowSite.guardFields`. An object, because
    /// the index refers to it as well, and there is one for each live query.
    package final class Site: Sendable {
        package let form: RowSite
        package let rows: Rows
        private let guards: Guards
        /// Nil without further conditions.
        private let entry: Entry?

        /// The rows that the last run read.
        package enum Rows: Sendable, Hashable {
            /// The first run is due, and will be compared with the events that arrive until it ends.
            case awaited
            /// Any row may be among them.
            case unknown
            case read(Read)

            package struct Read: Sendable, Hashable {
                private let hashes: Hashes
                private let edges: ListWindow.Edges

                init(bound: RowHashes?, shown: RowHashes?, edges: ListWindow.Edges) {
                    hashes =
                        switch (bound, shown) {
                        case (let bound?, let shown?): .both([bound, shown])
                        case (let bound?, nil): .bound(bound)
                        case (nil, let shown?): .shown(shown)
                        case (nil, nil): .none
                        }
                    self.edges = edges
                }

                /// The place after which no row with this hash of the bound field's value is shown; nil if there is
                /// none, or the value is not known.
                func edge(bound hash: UInt32?) -> ListWindow.Edge? {
                    switch edges {
                    case .none: nil
                    case .all(let edge): edge
                    case .each(let edges): hash.flatMap { edges[$0] }.map { .one($0) }
                    }
                }

                /// The values of the bound field; nil: any.
                var bound: RowHashes? {
                    switch hashes {
                    case .bound(let bound): bound
                    case .both(let both): both[0]
                    case .none, .shown: nil
                    }
                }

                /// The keys of the rows that the result shows; nil: any.
                var shown: RowHashes? {
                    switch hashes {
                    case .shown(let shown): shown
                    case .both(let both): both[1]
                    case .none, .bound: nil
                    }
                }
            }

            /// Bound values and keys, in one word of memory: most sites have one of both, and there may be a million.
            private enum Hashes: Sendable, Hashable {
                case none
                case bound(RowHashes)
                case shown(RowHashes)
                /// The bound values, then the keys.
                case both([RowHashes])
            }
        }

        /// The conditions on rows beside the guards. Shared by live queries.
        package final class Entry: Sendable {
            /// Satisfied by all rows of the site; nil if the guards and bound values say all that is known of them.
            let condition: RowCondition?
            /// Whether the condition has every part of the filter that events can tell beside the guards.
            let isWhole: Bool
            /// Nil if rows enter wherever they come in the order.
            let window: ListWindow?
            /// Whether rows that are not shown may matter: the first ones are left out, so others move when these do.
            let hasOffset: Bool
            /// The fields of the form that count for this live query, and those that decide whether a row is shown; nil
            /// for all of the form's.
            let fields: Set<String>?
            let deciding: Set<String>?

            package init(
                condition: RowCondition? = nil, isWhole: Bool = true, window: ListWindow? = nil,
                hasOffset: Bool = false,
                fields: Set<String>? = nil, deciding: Set<String>? = nil
            ) {
                self.condition = condition
                self.isWhole = isWhole
                self.window = window
                self.hasOffset = hasOffset
                self.fields = fields
                self.deciding = deciding
            }
        }

        /// The values of each guard. One takes no array.
        private enum Guards: Sendable {
            case one(Values)
            case several([Values])
        }

        package convenience init(form: RowSite, values: [Values], entry: Entry? = nil) {
            self.init(form, values.count == 1 ? .one(values[0]) : .several(values), entry, .awaited)
        }

        private init(_ form: RowSite, _ guards: Guards, _ entry: Entry?, _ rows: Rows) {
            self.form = form
            self.guards = guards
            self.entry = entry
            self.rows = rows
        }

        /// The values of the guards.
        package var values: [Values] {
            switch guards {
            case .one(let values): [values]
            case .several(let values): values
            }
        }

        private func admits(_ value: String, guard number: Int) -> Bool {
            switch guards {
            case .one(let values): values.contains(value)
            case .several(let values): values[number].contains(value)
            }
        }

        var bound: RowHashes? { if case .read(let read) = rows { read.bound } else { nil } }
        var shown: RowHashes? { if case .read(let read) = rows { read.shown } else { nil } }

        /// Returns the site after a run.
        /// - Parameters:
        ///   - read: the rows read; nil if they are not known.
        ///   - countMax: with more, any row may be among them.
        func after(_ read: RowsRead?, countMax: Int) -> Site {
            func known(_ hashes: RowHashes?) -> RowHashes? { hashes.flatMap { $0.count <= countMax ? $0 : nil } }
            let rows = read.map { read in
                let bound = known(read.bound)
                // Ends are remembered together with bound values.
                let lists = read.bound == nil || bound != nil ? read.lists : []
                return Rows.read(
                    Rows.Read(
                        bound: bound, shown: entry?.hasOffset == true ? nil : known(read.shown),
                        edges: entry?.window?.edges(
                            lists, form.shown?.order ?? [], isBound: form.boundField != nil) ?? .none))
            }
            return Site(form, guards, entry, rows ?? .unknown)
        }

        /// Whether the live query may notice the change by the fields that it uses.
        func uses(_ change: RowChange) -> Bool {
            change.concerns(fields: form.fields) && change.concerns(fields: entry?.fields)
        }

        /// Whether the live query uses a field of the table.
        func reads(_ field: String) -> Bool {
            (form.fields?.contains(field) ?? true) && (entry?.fields?.contains(field) ?? true)
        }

        /// Whether a row that was not shown may be shown after the change, as far as the fields tell that it sets.
        func mayEnter(_ change: RowChange) -> Bool {
            form.mayEnter(change) && change.concerns(fields: entry?.deciding)
        }

        /// Whether the row satisfies the filter before and after a change that matters by nothing else
        /// (`RowSite.isFiltered`).
        func keeps(_ change: RowChange) -> Bool {
            guard let before = change.before, let after = change.after, let changed = change.changed,
                entry?.isWhole ?? true
            else { return false }
            func former(_ field: String) -> JSONValue? {
                before[field] ?? (changed.contains(field) ? nil : after[field])
            }
            for (number, field) in form.guardFields.enumerated() where changed.contains(field) {
                guard let former = former(field), let latter = after[field], surelyAdmits(former, guard: number),
                    surelyAdmits(latter, guard: number)
                else { return false }
            }
            guard let condition = entry?.condition else { return true }
            return condition.holds(wherever: changed, former)
                && condition.holds(wherever: changed) { after[$0] }
        }

        private func surelyAdmits(_ value: JSONValue, guard number: Int) -> Bool {
            switch guards {
            case .one(let values): values.surelyContains(value)
            case .several(let values): values[number].surelyContains(value)
            }
        }

        /// Whether a row with this image may be one of the site's.
        func mayHold(_ image: JSONObject) -> Bool {
            satisfiesGuards(image) && entry?.condition?.mayHold(image) ?? true
        }

        /// Whether a row with this image may have the values of the guards and of the bound field.
        func satisfiesGuards(_ image: JSONObject) -> Bool {
            for (number, field) in form.guardFields.enumerated() {
                guard let known = image[field] else { continue }
                if !admits(GuardValue.text(known), guard: number) { return false }
            }
            guard let bound, let hash = form.boundHash(image) else { return true }
            return bound.contains(hash)
        }

        /// Whether a row that was not shown may be shown now.
        func admits(_ row: Arrival) -> Bool {
            guard mayHold(row.image) else { return false }
            guard let window = entry?.window, case .read(let read) = rows, let edge = read.edge(bound: row.bound) else {
                return true
            }
            return !window.isBeyond(row.order, edge)
        }

        /// The fields of the part of the condition that a row with this image does not satisfy.
        func conditionFields(failedBy image: JSONObject) -> [String] {
            entry?.condition?.fields(failedBy: image) ?? []
        }

        /// Whether the change may concern the site's rows.
        func isConcerned(by change: RowChange) -> Bool {
            guard uses(change) else { return false }
            if form.isFiltered(change), keeps(change) { return false }
            guard let rows = form.shown else { return change.images.contains(where: mayHold) }
            if let before = change.before {
                if let key = rows.key(of: change), let shown {
                    if shown.contains(key) { return true }
                } else if mayHold(before) {
                    return true
                }
            }
            guard let after = change.after, mayEnter(change) else { return false }
            return admits(Arrival(after, form))
        }
    }

    /// A row after its change.
    struct Arrival {
        let image: JSONObject
        /// The values of the list's order.
        let order: [SortValue]
        /// The hash of the bound field's value; nil if it is not known, or the site has no such field.
        let bound: UInt32?

        init(_ image: JSONObject, _ form: RowSite) {
            self.image = image
            bound = form.boundHash(image)
            order = form.shown?.order.map { SortValue(image[$0.field], $0.kind) } ?? []
        }
    }
}
