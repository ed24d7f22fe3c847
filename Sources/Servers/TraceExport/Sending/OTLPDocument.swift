package import JSON
import Observability
import Tracing

/// The body of a request that exports spans: OTLP in its JSON form. Pure.
///
/// Source: OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding", over `ExportTraceServiceRequest`: ids are hexadecimal,
/// 64-bit integers are strings, enums are numbers.
package enum OTLPDocument {
    /// - Parameter resource: the attributes of the process.
    package static func json(_ spans: [SpanRecord], resource: [(name: String, value: String)]) -> JSONValue {
        [
            "resourceSpans": [
                [
                    "resource": [
                        "attributes": .array(
                            resource.map { ["key": .string($0.name), "value": ["stringValue": .string($0.value)]] })
                    ],
                    "scopeSpans": [["scope": ["name": "freshet"], "spans": .array(spans.map(span))]],
                ]
            ]
        ]
    }

    private static func span(_ span: SpanRecord) -> JSONValue {
        var object: JSONObject = [
            "traceId": .string(span.identity.traceID.hex), "spanId": .string(span.identity.spanID),
            "name": .string(span.name), "kind": .int(number(of: span.kind)),
            "startTimeUnixNano": .string(String(span.startNs)), "endTimeUnixNano": .string(String(span.endNs)),
            "attributes": attributes(span.attributes),
        ]
        if let parent = span.parentID { object["parentSpanId"] = .string(parent) }
        if !span.events.isEmpty {
            object["events"] = .array(
                span.events.map { event in
                    [
                        "name": .string(event.name), "timeUnixNano": .string(String(event.nanosecondsSinceEpoch)),
                        "attributes": attributes(event.attributes),
                    ]
                })
        }
        if !span.links.isEmpty {
            object["links"] = .array(
                span.links.map { ["traceId": .string($0.traceID.hex), "spanId": .string($0.spanID)] })
        }
        if let status = span.status {
            var value: JSONObject = ["code": status.code == .error ? 2 : 1]
            if let message = status.message { value["message"] = .string(message) }
            object["status"] = .object(value)
        }
        return .object(object)
    }

    private static func number(of kind: SpanKind) -> Int64 {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: SpanAttributes) -> JSONValue {
        var found: [(name: String, value: JSONValue)] = []
        attributes.forEach { found.append(($0, value($1))) }
        return .array(
            found.sorted { $0.name < $1.name }.map { ["key": .string($0.name), "value": $0.value] })
    }

    private static func value(_ attribute: SpanAttribute) -> JSONValue {
        func list(_ values: [JSONValue]) -> JSONValue { ["arrayValue": ["values": .array(values)]] }
        func int(_ value: some FixedWidthInteger) -> JSONValue { ["intValue": .string(String(value))] }
        func text(_ value: String) -> JSONValue { ["stringValue": .string(value)] }
        // Not all cases of the library's enum may be named.
        switch attribute {
        case .int32(let value): return int(value)
        case .int64(let value): return int(value)
        case .int32Array(let values): return list(values.map { int($0) })
        case .int64Array(let values): return list(values.map { int($0) })
        case .double(let value): return ["doubleValue": .double(value)]
        case .doubleArray(let values): return list(values.map { ["doubleValue": .double($0)] })
        case .bool(let value): return ["boolValue": .bool(value)]
        case .boolArray(let values): return list(values.map { ["boolValue": .bool($0)] })
        case .string(let value): return text(value)
        case .stringArray(let values): return list(values.map(text))
        case .stringConvertible(let value): return text("\(value)")
        case .stringConvertibleArray(let values): return list(values.map { text("\($0)") })
        default: return text("")
        }
    }
}
