/// Commands in the form Redis reads them (RESP arrays of bulk strings, binary safe), encoded by the caller so that the
/// connection's thread only copies bytes. https://redis.io/docs/latest/develop/reference/protocol-spec/
struct CommandBuffer: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Commands begun: as many replies will come.
    private(set) var commands = 0

    init() {}

    /// One command of text arguments.
    init(_ arguments: String...) {
        add(arguments)
    }

    mutating func add(_ arguments: [String]) {
        begin(argumentCount: arguments.count)
        for argument in arguments { self.argument(argument) }
    }

    /// Starts a command; exactly `argumentCount` arguments follow, the command's name included.
    mutating func begin(argumentCount: Int) {
        commands += 1
        bytes.append(UInt8(ascii: "*"))
        line(argumentCount)
    }

    mutating func argument(_ text: String) {
        bytes.append(UInt8(ascii: "$"))
        line(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
        endLine()
    }

    mutating func argument(_ value: [UInt8]) {
        bytes.append(UInt8(ascii: "$"))
        line(value.count)
        bytes.append(contentsOf: value)
        endLine()
    }

    mutating func argument(_ number: Int) { argument(String(number)) }

    func followed(by other: CommandBuffer) -> CommandBuffer {
        var both = self
        both.bytes += other.bytes
        both.commands += other.commands
        return both
    }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    private mutating func line(_ number: Int) {
        bytes.append(contentsOf: String(number).utf8)
        endLine()
    }

    private mutating func endLine() {
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension CommandBuffer {
    /// `XADD` and, if the stream expires, `PEXPIRE` behind it.
    mutating func append(_ append: StreamAppend) {
        let bytesOfValues = append.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count + 24 }
        reserve(bytesOfValues + append.stream.utf8.count + 96)
        begin(argumentCount: 3 + (append.lengthMax == nil ? 0 : 3) + 2 * append.fields.count)
        argument("XADD")
        argument(append.stream)
        if let lengthMax = append.lengthMax {
            argument("MAXLEN")
            argument("~")
            argument(lengthMax)
        }
        argument("*")
        for field in append.fields {
            argument(field.name)
            argument(field.value)
        }
        if let expireMs = append.expireMs {
            add(["PEXPIRE", append.stream, String(expireMs)])
        }
    }
}
