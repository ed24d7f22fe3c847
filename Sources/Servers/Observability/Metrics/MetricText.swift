/// Prometheus' text format 0.0.4: names, labels, numbers.
enum MetricText {
    /// A name of the form `[a-zA-Z_:][a-zA-Z0-9_:]*`; other characters become `_`. The suffix is not doubled.
    static func name(_ label: String, suffix: String) -> String {
        let name = identifier(label, isAllowed: { $0 == UInt8(ascii: ":") })
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// `a="1",b="2"`, sorted by name. The last value of a repeated name counts.
    static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = identifier(name, isAllowed: { _ in false })
            // Histograms use `le` themselves.
            values[name == "le" ? "le_" : name] = value
        }
        return values.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    private static func identifier(_ text: String, isAllowed: (UInt8) -> Bool) -> String {
        var name: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
                name.append(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if name.isEmpty { name.append(UInt8(ascii: "_")) }
                name.append(byte)
            default: name.append(isAllowed(byte) ? byte : UInt8(ascii: "_"))
            }
        }
        return name.isEmpty ? "_" : String(decoding: name, as: UTF8.self)
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(.towardZero), value.magnitude < 0x1p53 { return String(Int64(value)) }
        return String(value)
    }

    static func appendHead(_ name: String, _ kind: MetricKind, help: String?, to text: inout [UInt8]) {
        if let help {
            let line = help.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
                .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
            text.append(contentsOf: "# HELP \(name) \(line)\n".utf8)
        }
        text.append(contentsOf: "# TYPE \(name) \(kind.rawValue)\n".utf8)
    }

    static func appendSample(_ name: String, _ labels: String, _ value: Double, to text: inout [UInt8]) {
        text.append(contentsOf: name.utf8)
        if !labels.isEmpty {
            text.append(UInt8(ascii: "{"))
            text.append(contentsOf: labels.utf8)
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: " "))
        text.append(contentsOf: number(value).utf8)
        text.append(UInt8(ascii: "\n"))
    }
}
