package import JSON
import LiveModel

/// A recording as lines of JSON (JSON Lines), each with its `type`: `recording` first, then `operation`, `query`,
/// `event` and `run`.
extension EventRecording {
    /// The version of the format, in the first line.
    package static let formatVersion: Int64 = 1

    package var lines: [JSONValue] {
        var head: JSONObject = [
            "type": "recording", "version": .int(Self.formatVersion),
            "redacted": .array(redacted.sorted().map(JSONValue.string)), "leftOut": .int(Int64(leftOut)),
            "queriesLeftOut": .int(Int64(queriesLeftOut)),
            "runsSinceMs": .object(JSONObject(runsSinceMs.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) })),
        ]
        if let mutations { head["mutations"] = .array(mutations.sorted().map { .string($0.description) }) }
        if !missingNodes.isEmpty { head["missingNodes"] = .array(missingNodes.sorted().map(JSONValue.string)) }
        return [.object(head)] + operations.map(\.line) + queries.map(\.line) + events.map(\.line) + runs.map(\.line)
    }

    /// A line that is not of this format.
    package struct LineError: Error, CustomStringConvertible {
        /// The number of the line, from 1.
        package let line: Int
        package let problem: String

        package var description: String { "line \(line): \(problem)" }
    }

    /// Reads the lines of a file.
    /// - Throws: `LineError` for the first bad one.
    package init(text: [UInt8]) throws(LineError) {
        var values: [(line: Int, value: JSONValue)] = []
        for (number, bytes) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        {
            let isBlank = bytes.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }
            if isBlank { continue }
            do {
                values.append((number + 1, try JSONValue(parsing: Array(bytes))))
            } catch {
                throw LineError(line: number + 1, problem: "it is no JSON: \(error)")
            }
        }
        try self.init(numbered: values)
    }

    /// Reads lines that are JSON already.
    /// - Throws: `LineError` for the first bad one.
    package init(lines: [JSONValue]) throws(LineError) {
        try self.init(numbered: lines.enumerated().map { ($0.offset + 1, $0.element) })
    }

    private init(numbered lines: [(line: Int, value: JSONValue)]) throws(LineError) {
        guard let first = lines.first else { throw LineError(line: 1, problem: "the file is empty") }
        guard first.value["type"]?.stringValue == "recording" else {
            throw LineError(line: first.line, problem: "the first line must be of the type \"recording\"")
        }
        guard first.value["version"]?.intValue == Self.formatVersion else {
            throw LineError(line: first.line, problem: "the version of the format must be \(Self.formatVersion)")
        }
        var recording = EventRecording()
        recording.redacted = Set(first.value.strings("redacted"))
        recording.leftOut = Int(clamping: first.value.int("leftOut"))
        recording.queriesLeftOut = Int(clamping: first.value.int("queriesLeftOut"))
        recording.missingNodes = Set(first.value.strings("missingNodes"))
        for member in first.value["runsSinceMs"]?.objectValue?.entries ?? [] {
            guard let ms = member.value.intValue else {
                throw LineError(line: first.line, problem: "\"runsSinceMs\" must hold whole numbers")
            }
            recording.runsSinceMs[member.key] = ms
        }
        if first.value["mutations"] != nil {
            recording.mutations = Set(first.value.strings("mutations").compactMap { OperationReference($0) })
        }
        for (line, value) in lines.dropFirst() {
            do throws(FieldError) {
                switch value["type"]?.stringValue {
                case "operation": recording.operations.append(try RecordedOperation(line: value))
                case "query": recording.queries.append(try RecordedQuery(line: value))
                case "event": recording.events.append(try RecordedEvent(line: value))
                case "run": recording.runs.append(try RecordedRun(line: value))
                case let type:
                    throw FieldError(
                        problem: "\"type\" must be operation, query, event or run"
                            + (type.map { ", not \"\($0.prefix(40))\"" } ?? ""))
                }
            } catch {
                throw LineError(line: line, problem: error.problem)
            }
        }
        self = recording
    }
}

/// A member of a line that is missing or of another form.
private struct FieldError: Error {
    let problem: String
}

extension JSONValue {
    fileprivate func text(_ name: String) throws(FieldError) -> String {
        guard let text = self[name]?.stringValue else { throw FieldError(problem: "\"\(name)\" must be a string") }
        return text
    }

    fileprivate func number(_ name: String) throws(FieldError) -> Int64 {
        guard let number = self[name]?.intValue else { throw FieldError(problem: "\"\(name)\" must be a whole number") }
        return number
    }

    fileprivate func object(_ name: String) throws(FieldError) -> JSONObject {
        guard let object = self[name]?.objectValue else { throw FieldError(problem: "\"\(name)\" must be an object") }
        return object
    }

    fileprivate func digest(_ name: String) throws(FieldError) -> Digest {
        guard let digest = Digest(hex: try text(name)) else {
            throw FieldError(problem: "\"\(name)\" must be 64 hexadecimal digits")
        }
        return digest
    }

    fileprivate func key(_ name: String) throws(FieldError) -> LiveQueryKey { LiveQueryKey(digest: try digest(name)) }

    fileprivate func reference(_ name: String) throws(FieldError) -> OperationReference {
        guard let reference = OperationReference(try text(name)) else {
            throw FieldError(problem: "\"\(name)\" must be CONNECTOR/OPERATION")
        }
        return reference
    }

    fileprivate func authReads(_ name: String) throws(FieldError) -> AuthReads? {
        guard let value = self[name] else { return nil }
        guard let reads = try? AuthReads(names: value) else {
            throw FieldError(problem: "\"\(name)\" must be an array of strings")
        }
        return reads
    }
}

extension RecordedOperation {
    fileprivate var line: JSONValue {
        var object: JSONObject = [
            "type": "operation", "operation": .string(operation.description), "version": .string(version.hex),
            "rules": .array(
                rules.map { rule in
                    var object: JSONObject = ["mutation": .string(rule.mutation.description)]
                    object["condition"] = rule.condition.map(JSONValue.string)
                    return .object(object)
                }), "authParts": authReads.names,
        ]
        if isCurrent { object["isCurrent"] = true }
        return .object(object)
    }

    fileprivate init(line: JSONValue) throws(FieldError) {
        guard let rows = line["rules"]?.arrayValue else { throw FieldError(problem: "\"rules\" must be an array") }
        var rules: [Rule] = []
        for row in rows {
            let condition = row["condition"]
            guard condition == nil || condition?.stringValue != nil else {
                throw FieldError(problem: "\"condition\" must be a string")
            }
            rules.append(Rule(mutation: try row.reference("mutation"), condition: condition?.stringValue))
        }
        self.init(
            operation: try line.reference("operation"), version: try line.digest("version"), rules: rules,
            authReads: try line.authReads("authParts") ?? .nothing, isCurrent: line.bool("isCurrent"))
    }
}

extension RecordedQuery {
    fileprivate var line: JSONValue {
        var object: JSONObject = [
            "type": "query", "key": .string(key.description), "operation": .string(operation.description),
            "version": .string(version.hex), "variables": .object(variables),
        ]
        object["auth"] = auth
        object["node"] = .string(node)
        object["sinceMs"] = .int(sinceMs)
        return .object(object)
    }

    fileprivate init(line: JSONValue) throws(FieldError) {
        self.init(
            key: try line.key("key"), operation: try line.reference("operation"), version: try line.digest("version"),
            variables: try line.object("variables"), auth: line["auth"], node: try line.text("node"),
            sinceMs: try line.number("sinceMs"))
    }

    /// The approximate size as JSON.
    package var byteCount: Int {
        320 + JSONValue.object(variables).compactBytes.count + (auth?.compactBytes.count ?? 0)
    }
}

extension RecordedEvent {
    fileprivate var line: JSONValue {
        var object: JSONObject = [
            "type": "event", "id": .string(id), "mutation": .string(mutation.description),
            "variables": .object(variables), "auth": auth,
        ]
        object["authParts"] = authParts?.names
        object["trace"] = .string(traceID)
        object["committedAtMs"] = .int(committedAtMs)
        object["appliedAtMs"] = .object(
            JSONObject(appliedAtMs.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) }))
        object["others"] = .array(others.map(\.description).sorted().map(JSONValue.string))
        if othersLeftOut > 0 { object["othersLeftOut"] = .int(Int64(othersLeftOut)) }
        return .object(object)
    }

    fileprivate init(line: JSONValue) throws(FieldError) {
        var applied: [String: Int64] = [:]
        for member in try line.object("appliedAtMs").entries {
            guard let ms = member.value.intValue else {
                throw FieldError(problem: "\"appliedAtMs\" must hold whole numbers")
            }
            applied[member.key] = ms
        }
        var others: Set<LiveQueryKey> = []
        for text in line.strings("others") {
            guard let digest = Digest(hex: text) else {
                throw FieldError(problem: "\"others\" must hold keys of 64 hexadecimal digits")
            }
            others.insert(LiveQueryKey(digest: digest))
        }
        self.init(
            id: try line.text("id"), mutation: try line.reference("mutation"),
            variables: try line.object("variables"), auth: line["auth"] ?? .null,
            authParts: try line.authReads("authParts"), traceID: line.string("trace"),
            committedAtMs: try line.number("committedAtMs"), appliedAtMs: applied, others: others,
            othersLeftOut: Int(clamping: line.int("othersLeftOut")))
    }
}

extension RecordedRun {
    fileprivate var line: JSONValue {
        [
            "type": "run", "node": .string(node), "key": .string(key.description), "startedAtMs": .int(startedAtMs),
            "outcome": .string(outcome.rawValue),
        ]
    }

    fileprivate init(line: JSONValue) throws(FieldError) {
        guard let outcome = RunRecord.Outcome(rawValue: try line.text("outcome")) else {
            throw FieldError(problem: "\"outcome\" must be changed, same, failed or cutShort")
        }
        self.init(
            node: try line.text("node"), key: try line.key("key"), startedAtMs: try line.number("startedAtMs"),
            outcome: outcome)
    }
}
