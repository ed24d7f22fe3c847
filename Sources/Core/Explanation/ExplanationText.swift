import Catalog
import JSON
import LiveModel
import Operations
import QuerySQL
import Refresh

extension OperationExplanation {
    /// The explanation as text, without a final line feed.
    package var text: String {
        var lines = ["\(kind.rawValue) \(reference)   version \(version.hex.prefix(12))", "  auth: \(auth)"]
        lines.append(
            "  variables: "
                + (variables.isEmpty ? "none" : variables.map { "$\($0.name): \($0.type)" }.joined(separator: ", ")))
        for use in embeddings {
            lines.append("  embedding: \(use.text) by \"\(use.model)\"" + (use.size.map { ", \($0) numbers" } ?? ""))
        }
        if kind == .query {
            lines += [
                "",
                "Live query key: operation, version, "
                    + (variables.isEmpty ? "no variables" : "the variables") + ", "
                    + (claims.isEmpty ? "no claims (all users share a result)" : claims.joined(separator: ", ")),
            ]
            lines +=
                ["", "Rules"]
                + (rules.isEmpty ? ["  none: subscribers get the first result only"] : rules.flatMap(Self.lines))
        }
        lines += ["", "SQL for variables like \(shape.isEmpty ? "{}" : shapeText)"]
        if let sql {
            lines += ["  single:", "    \(sql.single)", "  multiplexed:", "    \(sql.multiplexed)"]
            for (index, parameter) in sql.parameters.enumerated() {
                lines.append("  $\(index + 1) = \(parameter.source) :: \(parameter.type)")
            }
        }
        for step in steps {
            lines += ["  \(step.responseKey):", "    \(step.sql ?? "depends on the rows given")"]
        }
        return (lines + relationLines).joined(separator: "\n")
    }

    private var shapeText: String { JSONText.compact(shape) }

    private var relationLines: [String] {
        let (what, whose) = kind == .query ? ("Refreshed by", "mutations") : ("Refreshes", "queries")
        var lines = ["", what]
        if refreshing.isEmpty { lines.append("  no \(whose)") }
        for relation in refreshing {
            lines += ["  \(relation.other)"] + relation.reasons.map { "    \($0)" }
        }
        if !unnoticed.isEmpty {
            lines += [
                "",
                kind == .query
                    ? "Not refreshed by these mutations, although they can change what it reads"
                    : "Does not refresh these queries, although it can change what they read",
            ]
            for relation in unnoticed {
                lines.append("  \(relation.other)   (\(relation.tables.joined(separator: ", ")))")
            }
        }
        if unrelatedCount > 0 {
            lines += ["", "\(unrelatedCount) other \(whose) have no table in common with it"]
        }
        if isPartial {
            lines.append("It has native SQL, a view, or a filter or order from a variable: more tables may be touched.")
        }
        return lines
    }

    private static func lines(_ rule: Rule) -> [String] {
        switch rule {
        case .implicit(let table, let key):
            return ["  implicit: \(table) (\(key.joined(separator: ", ")))", "    index: hash of table and key"]
        case .timer(let everyMs):
            return [
                "  timer: every \(everyMs % 1_000 == 0 ? "\(everyMs / 1_000) s" : "\(everyMs) ms")",
                "    index: one timer for each live query, those due together run together",
            ]
        case .site(
            let table, let guards, let fields, let named, let filtered, let siteClass, let shown, let identity,
            let isOfSQL):
            var lines = [
                "  automatic: changes of \(table)" + (guards.isEmpty ? "" : " where \(guards.joined(separator: ", "))"),
                guards.isEmpty
                    ? "    index: every live query of the operation"
                    : "    index: hash of the first value that is known",
                "    class: \(siteClass.rawValue), "
                    + (isOfSQL
                        ? "native SQL or a view reads the table, as the database says, so all rows count"
                        : siteClass.reason),
            ]
            if let fields { lines.append("    updates count that set one of: \(fields.joined(separator: ", "))") }
            if !named.isEmpty {
                lines.append("    and, of these, only if the variable names them: \(named.joined(separator: ", "))")
            }
            if !filtered.isEmpty {
                lines.append(
                    "    and, of these, only if the row begins or ceases to satisfy the filter: "
                        + filtered.joined(separator: ", "))
            }
            if let shown {
                lines.append(
                    "    a row that is not shown counts if it is new or one of these is set: "
                        + shown.fields.joined(separator: ", "))
                if !shown.order.isEmpty {
                    lines.append(
                        "    and, of a full list, if it comes before the last row shown, by "
                            + shown.order.joined(separator: ", "))
                }
            }
            if let identity {
                lines.append(
                    "    replica identity: "
                        + (identity.isEmpty
                            ? "the key suffices"
                            : "with the key alone, updates and deletes by others count for every group; "
                                + "FULL, or an index with \(identity.joined(separator: ", ")), makes them exact"))
            }
            return lines
        case .anyRow:
            return [
                "  automatic: changes of any row, because native SQL or a view may read it",
                "    --database asks a database what native SQL and views read",
                "    index: every live query of the operation",
            ]
        case .trigger(let mutation, let condition, let form):
            guard let form else {
                return ["  after \(mutation), always", "    index: every live query of the operation"]
            }
            var lines = ["  after \(mutation), when \(condition ?? "")"]
            let index =
                if !form.hashKey.isEmpty {
                    "hash key \(form.hashKey.joined(separator: " && "))"
                } else if form.eventSide.isEmpty, form.remainder.isEmpty {
                    "the live queries for which it holds, decided when they are registered"
                } else {
                    "none, the condition is evaluated for every live query of the operation"
                }
            lines.append("    index: \(index)")
            if !form.eventSide.isEmpty {
                lines.append("    once for each event: \(form.eventSide.joined(separator: " && "))")
            }
            if !form.subscriberSide.isEmpty {
                lines.append("    once for each live query: \(form.subscriberSide.joined(separator: " && "))")
            }
            if !form.remainder.isEmpty {
                lines.append("    for each one found: \(form.remainder.joined(separator: " && "))")
            }
            return lines
        }
    }
}

extension SiteClass {
    fileprivate var reason: String {
        switch self {
        case .exact: "only rows of the group count"
        case .keys: "only rows below those that the last run read count"
        case .window: "only rows before the end of the list count"
        case .table: "no equality and no row above tells which rows count, so all do"
        }
    }
}
