import Inspection
import JSON
import LiveModel

/// Why a change of rows refreshes a live query or not, site by site.
extension AutomaticRules {
    func explain(_ event: MutationEvent, _ redaction: Redaction) -> [RuleVerdict] {
        let name = isObserved ? "observed" : "automatic"
        let matched: RuleVerdict.Outcome = isObserved ? .observed : .matched
        func whole(_ outcome: RuleVerdict.Outcome, _ reason: String) -> [RuleVerdict] {
            [RuleVerdict(rule: name, kind: .automatic, outcome: outcome, reason: reason)]
        }
        guard heedsMutations || event.isCaptured else {
            return whole(.notConcerned, "only changes in the database's log count (source: wal)")
        }
        guard let rows = event.rows else {
            return whole(matched, "the event does not tell which rows changed, so any may have")
        }
        if mayReadAnything {
            return rows.all.isEmpty
                ? whole(.no, "the mutation changed no row")
                : whole(matched, "the query may read any row, and the mutation changed some")
        }
        return sites.map { site in
            let rule = "\(name): \(site.text(redaction))"
            let changes = rows.all.filter { $0.table == site.form.table }
            guard !changes.isEmpty else {
                return RuleVerdict(
                    rule: rule, kind: .automatic, outcome: .notConcerned,
                    reason: "the mutation changed no row of \(site.form.table)")
            }
            var reasons: [String] = []
            for change in changes {
                let verdict = site.verdict(on: change, redaction)
                if verdict.isFound {
                    return RuleVerdict(rule: rule, kind: .automatic, outcome: matched, reason: verdict.reason)
                }
                if !reasons.contains(verdict.reason) { reasons.append(verdict.reason) }
            }
            let shown = reasons.prefix(3).joined(separator: "; ")
            return RuleVerdict(
                rule: rule, kind: .automatic, outcome: .no,
                reason: reasons.count > 3 ? "\(shown); and \(reasons.count - 3) other reasons" : shown)
        }
    }
}

extension AutomaticRules.Site {
    struct Verdict {
        let isFound: Bool
        let reason: String
    }

    /// The site in words: `bid where lotId = 'x'`.
    func text(_ redaction: Redaction) -> String {
        var conditions = zip(form.guardFields, values).map { field, values in
            "\(field) \(values.text(hidden: redaction.hides(field)))"
        }
        if let field = form.boundField { conditions.append("\(field) of the rows above") }
        return form.table + (conditions.isEmpty ? "" : " where \(conditions.joined(separator: ", "))")
    }

    /// Whether the index finds a live query with this site by the change, and why.
    func verdict(on change: RowChange, _ redaction: Redaction) -> Verdict {
        guard uses(change) else {
            let changed = (change.changed ?? []).joined(separator: ", ")
            let isRead = change.changed?.contains(where: reads) ?? true
            return Verdict(
                isFound: false,
                reason: isRead
                    ? "\(changed) set, and what the query reads of it to the value that was there"
                    : "only \(changed) changed, which the query does not read")
        }
        if form.isFiltered(change), keeps(change) {
            let changed = (change.changed ?? []).filter(reads).joined(separator: ", ")
            return Verdict(
                isFound: false,
                reason: "only \(changed) changed, which the query only filters by, and the row satisfies that as before"
            )
        }
        guard let rows = form.shown else { return anyImage(of: change, redaction) }
        if let before = change.before {
            if let key = rows.key(of: change) {
                if let verdict = shownRow(key, before, redaction) { return verdict }
            } else if finds(before, mayHold(before)) {
                return Verdict(isFound: true, reason: "the row before may have been shown")
            }
        }
        guard let after = change.after else {
            return Verdict(isFound: false, reason: "the row that is gone was not shown")
        }
        guard mayEnter(change) else {
            return Verdict(
                isFound: false, reason: "the row was not shown, and nothing changed that decides whether rows are")
        }
        return entering(after, redaction)
    }

    private var isAwaited: Bool { if case .awaited = rows { true } else { false } }

    /// Whether the index looks the site up by this image. Before the first run ends, nothing that only runs tell leads
    /// to it.
    private func finds(_ image: JSONObject, _ accepts: @autoclosure () -> Bool) -> Bool {
        let isGuarded = form.guardFields.contains { image[$0] != nil }
        if !isGuarded, let field = form.boundField, image[field] != nil, isAwaited { return false }
        return accepts()
    }

    private func anyImage(of change: RowChange, _ redaction: Redaction) -> Verdict {
        var reasons: [String] = []
        for image in change.images {
            if finds(image, mayHold(image)) {
                return Verdict(isFound: true, reason: "a row that the query reads changed\(told(image, redaction))")
            }
            reasons.append(mismatch(image, redaction))
        }
        return Verdict(isFound: false, reason: reasons.first ?? "the change tells of no row")
    }

    /// - Returns: nil if the row before was not shown.
    private func shownRow(_ key: UInt32, _ before: JSONObject, _ redaction: Redaction) -> Verdict? {
        if isAwaited { return nil }
        if let shown {
            return shown.contains(key) ? Verdict(isFound: true, reason: "a row that the result shows changed") : nil
        }
        guard mayHold(before) else { return nil }
        return Verdict(isFound: true, reason: "the changed row may be among those shown, which are too many to know")
    }

    private func entering(_ after: JSONObject, _ redaction: Redaction) -> Verdict {
        let row = AutomaticRules.Arrival(after, form)
        if finds(after, admits(row)) {
            return Verdict(isFound: true, reason: "the row may be shown now\(told(after, redaction))")
        }
        guard mayHold(after) else { return Verdict(isFound: false, reason: mismatch(after, redaction)) }
        if isAwaited { return Verdict(isFound: false, reason: "the first run, which tells the rows read, is due") }
        return Verdict(isFound: false, reason: "the row comes after the last one that the list shows")
    }

    /// The first reason that a row with this image is none of the site's.
    private func mismatch(_ image: JSONObject, _ redaction: Redaction) -> String {
        for (field, values) in zip(form.guardFields, values) {
            guard let known = image[field], !values.contains(GuardValue.text(known)) else { continue }
            let isHidden = redaction.hides(field)
            let value = isHidden ? Redaction.mark : ValueText.text(known)
            return "\(form.table).\(field): \(value) ≠ \(values.operand(hidden: isHidden))"
        }
        if let field = form.boundField, let known = image[field] {
            if isAwaited { return "the first run, which tells the rows read, is due" }
            let value = redaction.hides(field) ? Redaction.mark : ValueText.text(known)
            if satisfiesGuards(image) { return outside(image, redaction) }
            return "\(form.table).\(field) \(value) is none of the rows above, as the last run read them"
        }
        return outside(image, redaction)
    }

    /// Why a row that satisfies the guards is none of the site's.
    private func outside(_ image: JSONObject, _ redaction: Redaction) -> String {
        let told = conditionFields(failedBy: image).map { field in
            "\(field) \(redaction.hides(field) ? Redaction.mark : image[field].map(ValueText.text) ?? "")"
        }
        if !told.isEmpty { return "\(told.joined(separator: ", ")) is outside what the query reads" }
        return "the row is none of those that the query reads"
    }

    private func told(_ image: JSONObject, _ redaction: Redaction) -> String {
        let fields = form.comparedFields.filter { image[$0] != nil && !redaction.hides($0) }
        if fields.isEmpty { return "" }
        return " (" + fields.map { "\($0) = \(image[$0].map(ValueText.text) ?? "")" }.joined(separator: ", ") + ")"
    }
}

extension AutomaticRules.Values {
    fileprivate func text(hidden: Bool) -> String {
        switch self {
        case .any: "is anything"
        case .one: "= \(operand(hidden: hidden))"
        case .several: "in \(operand(hidden: hidden))"
        }
    }

    fileprivate func operand(hidden: Bool) -> String {
        if hidden { return Redaction.mark }
        return switch self {
        case .any: "anything"
        case .one(let value): ValueText.quoted(value)
        case .several(let values):
            "[" + values.prefix(5).map(ValueText.quoted).joined(separator: ", ") + (values.count > 5 ? ", …]" : "]")
        }
    }
}
