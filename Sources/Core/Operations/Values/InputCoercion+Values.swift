import JSON
import SchemaModel

/// Values that are objects themselves: relative times, patterns and updates.
extension InputCoercion {
    /// Coerces `{now: true, sub: {days: 7}, truncateTo: DAY}`.
    func relative(_ value: JSONValue, isDate: Bool, _ path: String) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        let (start, given) = isDate ? ("today", "on") : ("now", "at")
        let typeName = isDate ? "Date_Relative" : "Timestamp_Relative"
        var coerced = JSONObject()
        for entry in try object(value, typeName, path) {
            let path = "\(path).\(entry.key)"
            switch entry.key {
            case start:
                guard entry.value == .bool(true) else { throw Mismatch(path: path, expected: "true") }
                coerced[entry.key] = entry.value
            case given:
                coerced[entry.key] = try scalar(entry.value, ColumnType(isDate ? .date : .timestamp), path)
            case "add", "sub": coerced[entry.key] = try duration(entry.value, isDate: isDate, path)
            case "truncateTo":
                let words = isDate ? RelativeTime.Interval.ofDates : RelativeTime.Interval.allCases
                let isWord = words.contains { $0.rawValue == entry.value.stringValue }
                guard entry.value.isNull || isWord else {
                    throw Mismatch(path: path, expected: words.map(\.rawValue).joined(separator: ", "))
                }
                coerced[entry.key] = entry.value
            default: throw Mismatch(path: path, expected: "a field of \(typeName)")
            }
        }
        // A null base counts as absent.
        guard (coerced[start] == nil) != (coerced[given]?.isNull ?? true) else {
            throw Mismatch(path: path, expected: "either \(start) or \(given)")
        }
        return .object(coerced)
    }

    /// Coerces `{days: 7}`.
    func duration(_ value: JSONValue, isDate: Bool, _ path: String) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        let typeName = isDate ? "Date_Duration" : "Timestamp_Duration"
        let units = isDate ? RelativeTime.Unit.ofDates : RelativeTime.Unit.allCases
        var coerced = JSONObject()
        for entry in try object(value, typeName, path) {
            guard units.contains(where: { $0.rawValue == entry.key }) else {
                throw Mismatch(path: "\(path).\(entry.key)", expected: "a field of \(typeName)")
            }
            coerced[entry.key] = try scalar(entry.value, ColumnType(.int), "\(path).\(entry.key)")
        }
        return .object(coerced)
    }

    func pattern(_ object: JSONObject, _ path: String) throws(Mismatch) -> JSONValue {
        var coerced = JSONObject()
        for entry in object {
            switch entry.key {
            case "like", "regex": coerced[entry.key] = try scalar(entry.value, ColumnType(.string), path)
            case "ignoreCase", "invert": coerced[entry.key] = try scalar(entry.value, ColumnType(.boolean), path)
            default: throw Mismatch(path: "\(path).\(entry.key)", expected: "like, regex, ignoreCase or invert")
            }
        }
        let given = ["like", "regex"].filter { !(coerced[$0]?.isNull ?? true) }
        guard given.count == 1 else { throw Mismatch(path: path, expected: "either like or regex") }
        return .object(coerced)
    }

    /// Coerces `[{inc: 1}]`: exactly one update of a column.
    func change(_ value: JSONValue, _ type: ColumnType) throws(Mismatch) -> JSONValue {
        let items = value.arrayValue ?? [value]
        return .array([try oneChange(items.count == 1 ? items[0] : .null, type)])
    }

    func oneChange(_ value: JSONValue, _ type: ColumnType) throws(Mismatch) -> JSONValue {
        let names = type.changes.map(\.name)
        guard let object = value.objectValue, object.count == 1, let entry = object.entries.first,
            names.contains(entry.key), !entry.value.isNull
        else { throw Mismatch(path: "", expected: "exactly one of \(names.joined(separator: ", "))") }
        let isTime = !type.isList && [.date, .timestamp].contains(type.scalar)
        let amount =
            isTime
            ? try duration(entry.value, isDate: type.scalar == .date, ".\(entry.key)")
            : try scalar(entry.value, type, ".\(entry.key)")
        return .object(JSONObject([(entry.key, amount)]))
    }
}
