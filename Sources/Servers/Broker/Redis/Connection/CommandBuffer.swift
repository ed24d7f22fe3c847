import Streams
import LiveModel

/// Commands in Redis' wire format (RESP arrays of bulk strings, binary safe), encoded by the caller so that the
/// connection's thread only copies bytes. https://redis.io/docs/latest/develop/reference/protocol-spec/
struct CommandBuffer: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The number of commands, each of which gets one reply.
    private(set) var commands = 0

    init() {}

    /// One command with text arguments.
    init(_ arguments: String...) {
        add(arguments)
    }

    mutating func add(_ arguments: [String]) {
        begin(argumentCount: arguments.count)
        for argument in arguments { self.argument(argument) }
    }

    /// Starts a command. Exactly `argumentCount` arguments must follow, including the command's name.
    mutating func begin(argumentCount: Int) {
        commands += 1
        bytes.append(UInt8(ascii: "*"))
        line(argumentCount)
    }

    mutating func argument(_ text: String) {
        bytes.append(UInt8(ascii: "$"))
        line(text.utf8.count)
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
        endLine()
    }

    /// A constant argument, encoded without a `String`.
    mutating func argument(literal text: StaticString) {
        bytes.append(UInt8(ascii: "$"))
        line(text.utf8CodeUnitCount)
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        endLine()
    }

    mutating func argument(_ value: [UInt8]) {
        bytes.append(UInt8(ascii: "$"))
        line(value.count)
        bytes.append(contentsOf: value)
        endLine()
    }

    mutating func argument(_ number: Int) { argument(String(number)) }

    /// Encodes an id without a `String`, because a blocking read has one for each stream.
    mutating func argument(_ id: StreamID) {
        bytes.append(UInt8(ascii: "$"))
        line(Self.digitCount(id.ms) + 1 + Self.digitCount(id.sequence))
        digits(id.ms)
        bytes.append(UInt8(ascii: "-"))
        digits(id.sequence)
        endLine()
    }

    func followed(by other: CommandBuffer) -> CommandBuffer {
        var both = self
        both.bytes += other.bytes
        both.commands += other.commands
        return both
    }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    /// Copies arguments that are already encoded.
    mutating func encoded(_ encoded: [UInt8]) { bytes.append(contentsOf: encoded) }

    private mutating func line(_ number: Int) {
        digits(UInt64(number))
        endLine()
    }

    private mutating func digits(_ number: UInt64) {
        if number < 10 { return bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number)) }
        let count = Self.digitCount(number)
        for _ in 0..<count { bytes.append(0) }
        var rest = number
        for index in ((bytes.count - count)..<bytes.count).reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var count = 1
        var rest = number / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }

    private mutating func endLine() {
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension CommandBuffer {
    /// Encodes each append as `XADD`, followed by `PEXPIRE` if the stream expires. Contents that go to several streams,
    /// as events do, are encoded once.
    init(_ appends: [StreamAppend]) {
        var rest: [UInt8] = []
        var former: StreamAppend?
        for append in appends {
            if former?.isAlike(append) != true {
                var buffer = CommandBuffer()
                buffer.rest(of: append)
                rest = buffer.bytes
                // Only once, because each reservation copies.
                if former == nil { reserve((rest.count + append.stream.utf8.count + 48) * appends.count) }
                former = append
            }
            begin(argumentCount: 3 + (append.lengthMax == nil ? 0 : 3) + 2 * append.fields.count)
            argument(literal: "XADD")
            argument(append.stream)
            encoded(rest)
            if let expireMs = append.expireMs {
                add(["PEXPIRE", append.stream, String(expireMs)])
            }
        }
    }

    /// Encodes the arguments after the stream's name.
    private mutating func rest(of append: StreamAppend) {
        reserve(append.fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.count + 24 })
        if let lengthMax = append.lengthMax {
            argument(literal: "MAXLEN")
            argument(literal: "~")
            argument(lengthMax)
        }
        argument(literal: "*")
        for field in append.fields {
            argument(field.name)
            argument(field.value)
        }
    }
}

extension StreamAppend {
    /// Whether two appends differ only in the stream. Comparing is cheap, because contents mostly share their memory.
    fileprivate func isAlike(_ other: StreamAppend) -> Bool {
        lengthMax == other.lengthMax && fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}
