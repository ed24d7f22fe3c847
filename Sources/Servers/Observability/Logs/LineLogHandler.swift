import Logging

/// Writes each event as one line of text or JSON. Control characters are escaped, so that logged data cannot forge a
/// line.
struct LineLogHandler: LogHandler {
    /// Longer lines are cut and marked as such.
    static let lineBytesMax = 32 << 10
    /// Metadata nested deeper is left out.
    static let depthMax = 4

    let label: String
    let options: LogOptions
    let sink: any LogSink
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level

    init(label: String, options: LogOptions, sink: any LogSink, metadataProvider: Logger.MetadataProvider? = nil) {
        self.label = label
        self.options = options
        self.sink = sink
        self.metadataProvider = metadataProvider
        logLevel = options.level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let node = options.node { fields["node"] = .string(node) }
        if let provided = metadataProvider?.get() { fields.merge(provided) { own, _ in own } }
        if let given = event.metadata { fields.merge(given) { _, given in given } }
        var line: [UInt8] = []
        switch options.format {
        case .text: appendText(event, fields, to: &line)
        case .json: appendJSON(event, fields, to: &line)
        }
        line.append(UInt8(ascii: "\n"))
        sink.write(line)
    }

    private func appendText(_ event: LogEvent, _ fields: Logger.Metadata, to line: inout [UInt8]) {
        line.append(contentsOf: UTCTime.text(epochMs: sink.nowMs()).utf8)
        line.append(UInt8(ascii: " "))
        if options.colour { line.append(contentsOf: event.level.colour.utf8) }
        line.append(contentsOf: event.level.rawValue.utf8)
        if options.colour { line.append(contentsOf: "\u{1B}[0m".utf8) }
        line.append(contentsOf: " \(label): ".utf8)
        LogText.appendPlain(event.message.description, to: &line)
        if let error = event.error { LogText.appendField("error", String(describing: error), to: &line) }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            LogText.appendField(key, value.description, to: &line)
        }
        LogText.cut(&line, bytesMax: Self.lineBytesMax, end: " …cut")
    }

    private func appendJSON(_ event: LogEvent, _ fields: Logger.Metadata, to line: inout [UInt8]) {
        line.append(contentsOf: "{\"time\":\"\(UTCTime.text(epochMs: sink.nowMs()))\",\"level\":\"".utf8)
        line.append(contentsOf: event.level.rawValue.utf8)
        line.append(contentsOf: "\",\"logger\":".utf8)
        LogText.appendQuoted(label, to: &line)
        line.append(contentsOf: ",\"message\":".utf8)
        LogText.appendQuoted(event.message.description, to: &line, bytesMax: Self.lineBytesMax / 2)
        if let error = event.error {
            line.append(contentsOf: ",\"error\":".utf8)
            LogText.appendQuoted(String(describing: error), to: &line, bytesMax: Self.lineBytesMax / 4)
        }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            // A cut inside a field would not be JSON, so whole fields are left out.
            guard line.count < Self.lineBytesMax else {
                line.append(contentsOf: ",\"cut\":true".utf8)
                break
            }
            line.append(UInt8(ascii: ","))
            LogText.appendQuoted(Self.reserved.contains(key) ? "\(key)_" : key, to: &line, bytesMax: 256)
            line.append(UInt8(ascii: ":"))
            Self.append(value, to: &line, depth: 1)
        }
        line.append(UInt8(ascii: "}"))
    }

    private static let reserved: Set<String> = ["time", "level", "logger", "message", "error", "cut"]

    private static func append(_ value: Logger.MetadataValue, to line: inout [UInt8], depth: Int) {
        switch value {
        case .string(let text): appendText(text, to: &line)
        case .stringConvertible(let value): appendText(value.description, to: &line)
        case .array(let values) where depth < depthMax:
            line.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                guard line.count < lineBytesMax else { break }
                if index > 0 { line.append(UInt8(ascii: ",")) }
                append(value, to: &line, depth: depth + 1)
            }
            line.append(UInt8(ascii: "]"))
        case .dictionary(let fields) where depth < depthMax:
            line.append(UInt8(ascii: "{"))
            for (index, field) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
                guard line.count < lineBytesMax else { break }
                if index > 0 { line.append(UInt8(ascii: ",")) }
                LogText.appendQuoted(field.key, to: &line, bytesMax: 256)
                line.append(UInt8(ascii: ":"))
                append(field.value, to: &line, depth: depth + 1)
            }
            line.append(UInt8(ascii: "}"))
        case .array, .dictionary: line.append(contentsOf: "\"…\"".utf8)
        }
    }

    /// Limits a field to a quarter of the line and to the rest of it.
    private static func appendText(_ text: String, to line: inout [UInt8]) {
        LogText.appendQuoted(text, to: &line, bytesMax: max(0, min(lineBytesMax / 4, lineBytesMax - line.count)))
    }
}

extension Logger.Level {
    fileprivate var colour: String {
        switch self {
        case .trace, .debug: "\u{1B}[2m"
        case .info: "\u{1B}[32m"
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[1;31m"
        }
    }
}
