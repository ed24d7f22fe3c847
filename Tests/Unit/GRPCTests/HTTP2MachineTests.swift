import NIOCore
import NIOHPACK
import NIOHTTP2
import SeededRandom
import TestSupport
import Testing

@testable import GRPC

/// Frames of a client go in, events and frames come out. Source: RFC 9113.
@Suite struct HTTP2MachineTests {
    /// A machine and what came of it.
    struct Server {
        var machine: HTTP2Machine
        var events: [String] = []
        private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)

        init(streamsMax: Int = 10) {
            machine = HTTP2Machine(
                HTTP2Machine.Limits(
                    streamsMax: streamsMax, headerBytesMax: 16 << 10,
                    resets: EventLimit(eventsMax: 20, windowMs: 2_000),
                    controlFrames: EventLimit(eventsMax: 20, windowMs: 1_000), resetIDsMin: 0),
                decoder: HPACKDecoder(allocator: ByteBufferAllocator()))
        }

        static let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

        /// A server that has the client's preface and settings, and whose own are written.
        static func begun(_ settings: [UInt8] = [], streamsMax: Int = 10) -> Server {
            var server = Server(streamsMax: streamsMax)
            server.receive(preface)
            server.receive(GRPCPair.bytes(GRPCPair.settings, on: 0, settings))
            _ = server.written()
            server.events = []
            return server
        }

        mutating func receive(_ bytes: ByteBuffer, nowMs: Int64 = 0) {
            machine.received(bytes)
            while let event = machine.next(nowMs: nowMs) { events.append(Self.text(event)) }
            machine.settle()
        }

        mutating func frame(_ type: UInt8, flags: UInt8 = 0, on id: HTTP2StreamID, _ payload: [UInt8] = []) {
            receive(GRPCPair.bytes(type, flags: flags, on: id, payload))
        }

        mutating func call(_ id: HTTP2StreamID, ends: Bool = false) {
            frame(GRPCPair.headers, flags: ends ? 0x5 : 0x4, on: id, GRPCPair.streamFields)
        }

        static func text(_ event: HTTP2Machine.Event) -> String {
            switch event {
            case .call(let id, let fields, let endsInput):
                "call \(Int(id)) \(fields.first(name: ":path") ?? "")\(endsInput ? " ends" : "")"
            case .data(let id, let bytes, let windowBytes, let endsInput):
                "data \(Int(id)) \(String(buffer: bytes)) \(windowBytes)\(endsInput ? " ends" : "")"
            case .inputEnded(let id): "ended \(Int(id))"
            case .closed(let id): "closed \(Int(id))"
            case .controlFrame: "control"
            case .pong(let number): "pong \(number)"
            case .cancelled: "cancelled"
            case .failed(let code): "failed \(code.networkCode)"
            }
        }

        /// Takes the frames that may be written: type, stream, and the payload of DATA or the size of others.
        mutating func written() -> [String] {
            var bytes = ByteBuffer()
            while true {
                let batch = machine.fill(memory)
                guard batch.byteCount > 0 else { break }
                bytes.writeBytes(UnsafeRawBufferPointer(rebasing: memory[..<batch.byteCount]))
            }
            var frames: [String] = []
            while let length: UInt32 = bytes.readInteger(), let flags: UInt8 = bytes.readInteger(),
                let id: UInt32 = bytes.readInteger(), let payload = bytes.readSlice(length: Int(length >> 8))
            {
                let kind = UInt8(length & 0xFF)
                let content = kind == GRPCPair.data ? String(buffer: payload) : "\(payload.readableBytes)"
                frames.append("\(kind) \(id) \(content)\(kind == GRPCPair.headers && flags & 1 != 0 ? " ends" : "")")
            }
            #expect(bytes.readableBytes == 0)
            return frames
        }

        /// Takes all frames that may be written, and returns the streams that end with them.
        mutating func writtenAndClosed() -> [HTTP2StreamID] {
            var closed: [HTTP2StreamID] = []
            while true {
                let batch = machine.fill(memory)
                guard batch.byteCount > 0 else { return closed }
                closed += batch.closed
            }
        }

        /// Whether the caller may write one frame with this payload itself.
        mutating func reserve(_ byteCount: Int, on id: HTTP2StreamID) -> String {
            machine.reserve(byteCount, on: id) ? "reserved" : "refused"
        }

        /// Whether the stream is over.
        mutating func end(_ id: HTTP2StreamID, _ fields: [(String, String)] = [("grpc-status", "0")]) -> String {
            machine.end(HPACKHeaders(fields), on: id) ? "over" : "open"
        }

        func free() { memory.deallocate() }
    }

    private static func setting(_ identifier: UInt8, _ value: UInt32) -> [UInt8] {
        [0, identifier] + withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private static func increment(_ bytes: UInt32) -> [UInt8] { withUnsafeBytes(of: bytes.bigEndian) { Array($0) } }

    /// The frames that wait are never all written, and more come each time.
    @Test func controlFramesThatWaitKeepNoMemoryOfWrittenOnes() {
        var server = Server.begun()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)
        defer { memory.deallocate() }
        var number: UInt64 = 0
        while server.machine.control.readableBytes < 40 << 10 {
            number += 1
            server.machine.ping(number)
        }
        for _ in 0..<10_000 {
            let written = server.machine.fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<(17 << 4)])).byteCount
            for _ in 0..<(written / 17) { server.machine.ping(number) }
            #expect(server.machine.control.readableBytes > 0)
        }
        #expect(server.machine.control.capacity <= 256 << 10)
    }

    @Test func settingsWithManyEntriesEndTheConnection() {
        var server = Server.begun()
        let entry: [UInt8] = [0, 4, 0, 0, 0xFF, 0xFF]
        server.frame(GRPCPair.settings, on: 0, Array(repeatElement(entry, count: 32).joined()))
        #expect(server.events == ["control"])
        server.frame(GRPCPair.settings, on: 0, Array(repeatElement(entry, count: 33).joined()))
        #expect(server.events == ["control", "failed 11"])
    }

    @Test func aConnectionBeginsWithThePrefaceAndSettings() {
        var server = Server()
        defer { server.free() }
        #expect(server.written() == ["4 0 12"])
        server.receive(Server.preface)
        server.frame(GRPCPair.settings, on: 0)
        #expect(server.events == ["control"] && server.written() == ["4 0 0"])

        for begin in [
            GRPCPair.bytes(GRPCPair.ping, on: 0, Array(repeating: 0, count: 8)),
            GRPCPair.bytes(GRPCPair.settings, flags: 1, on: 0, []),
        ] {
            var other = Server()
            defer { other.free() }
            other.receive(Server.preface)
            other.receive(begin)
            #expect(other.events == ["failed 1"])
        }
        var other = Server()
        defer { other.free() }
        other.receive(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"))
        #expect(other.events == ["failed 1"])
    }

    /// Bytes may be divided anywhere.
    @Test(arguments: 0..<30) func anyCutGivesTheSameEvents(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var bytes = Server.preface
        func add(_ type: UInt8, flags: UInt8 = 0, on id: HTTP2StreamID, _ payload: [UInt8]) {
            bytes.writeImmutableBuffer(GRPCPair.bytes(type, flags: flags, on: id, payload))
        }
        add(GRPCPair.settings, on: 0, Self.setting(4, 1_000))
        let fields = GRPCPair.streamFields
        // Padding of 3 and a priority; the rest of the fields in two more frames.
        add(GRPCPair.headers, flags: 0x28, on: 1, [3, 0, 0, 0, 0, 9] + fields.prefix(4) + [0, 0, 0])
        add(9, on: 1, Array(fields[4..<9]))
        add(9, flags: 0x4, on: 1, Array(fields[9...]))
        add(GRPCPair.data, flags: 0x8, on: 1, [2] + Array("one".utf8) + [0, 0])
        add(99, on: 1, [1, 2, 3])
        add(GRPCPair.headers, flags: 0x5, on: 3, fields)
        add(GRPCPair.data, on: 1, Array("two".utf8))
        add(GRPCPair.headers, flags: 0x5, on: 1, GRPCErrorTests.field("x-end", "y"))
        add(GRPCPair.reset, on: 3, [0, 0, 0, 8])
        add(GRPCPair.ping, flags: 1, on: 0, [0, 0, 0, 0, 0, 0, 0, 7])
        var server = Server()
        defer { server.free() }
        while bytes.readableBytes > 0 {
            server.receive(bytes.readSlice(length: min(bytes.readableBytes, 1 + random.below(30)))!)
        }
        #expect(
            server.events == [
                "control", "call 1 /stream", "data 1 one 6", "control", "call 3 /stream ends", "data 1 two 3",
                "ended 1",
                "cancelled", "closed 3", "pong 7",
            ])
    }

    /// Frames after a call of stream 1 that ends the connection, and the code.
    @Test(
        arguments: [
            (9, 0x4, 1, [0x80], 1), (GRPCPair.headers, 0x4, 2, [0x83], 1), (5, 0, 1, [0, 0, 0, 2], 1),
            (GRPCPair.data, 0x8, 1, [3, 0, 0], 1), (GRPCPair.headers, 0x24, 3, [0, 0, 0], 1),
            (GRPCPair.reset, 0, 3, [0, 0, 0, 8], 1), (GRPCPair.reset, 0, 1, [0], 6),
            (GRPCPair.windowUpdate, 0, 1, [1], 6),
            (GRPCPair.windowUpdate, 0, 3, [0, 0, 0, 1], 1), (GRPCPair.settings, 0, 1, [], 1),
            (GRPCPair.settings, 0, 0, [1], 6), (GRPCPair.settings, 1, 0, [0, 0, 0, 0, 0, 0], 6),
            (GRPCPair.settings, 0, 0, [0, 2, 0, 0, 0, 2], 1), (GRPCPair.settings, 0, 0, [0, 4, 0x80, 0, 0, 0], 3),
            (GRPCPair.settings, 0, 0, [0, 5, 0, 0, 0, 1], 1), (GRPCPair.ping, 0, 1, [0, 0, 0, 0, 0, 0, 0, 0], 1),
            (GRPCPair.goAway, 0, 1, [0, 0, 0, 0, 0, 0, 0, 0], 1), (GRPCPair.goAway, 0, 0, [0], 6),
            (2, 0, 0, [0, 0, 0, 0, 0], 1),
        ] as [(UInt8, UInt8, Int, [UInt8], Int)])
    func aMistakeOnTheConnectionFailsOnce(_ type: UInt8, _ flags: UInt8, _ id: Int, _ payload: [UInt8], _ code: Int) {
        var server = Server.begun()
        defer { server.free() }
        server.call(1)
        server.events = []
        server.frame(type, flags: flags, on: HTTP2StreamID(id), payload)
        server.frame(GRPCPair.ping, on: 0, Array(repeating: 0, count: 8))
        #expect(server.events == ["failed \(code)"])
    }

    @Test func framesAreBounded() {
        var server = Server.begun()
        defer { server.free() }
        // Only the head of a frame that would be too long.
        server.receive(ByteBuffer(bytes: [0, 0x40, 1, 0, 0, 0, 0, 0, 1]))
        #expect(server.events == ["failed 6"])

        var endless = Server.begun()
        defer { endless.free() }
        endless.frame(GRPCPair.headers, on: 1)
        for _ in 0..<6 { endless.frame(9, on: 1) }
        #expect(endless.events == ["failed 11"])

        var empty = Server.begun()
        defer { empty.free() }
        empty.call(1)
        for _ in 0..<2 { empty.frame(GRPCPair.data, on: 1) }
        #expect(empty.events.last == "failed 11")

        var long = Server.begun()
        defer { long.free() }
        long.frame(GRPCPair.headers, on: 1, Array(repeating: 0, count: 16_000))
        long.frame(9, on: 1, Array(repeating: 0, count: 1_000))
        #expect(long.events == ["failed 9"])

        var between = Server.begun()
        defer { between.free() }
        between.frame(GRPCPair.headers, on: 1)
        between.frame(GRPCPair.ping, on: 0, Array(repeating: 0, count: 8))
        #expect(between.events == ["failed 1"])
    }

    @Test(arguments: [
        [(":method", "POST"), (":scheme", "http")], [(":method", "POST"), (":scheme", "http"), (":path", "")],
        [(":method", "POST"), (":method", "POST"), (":scheme", "http"), (":path", "/")],
        [(":method", "POST"), (":scheme", "http"), ("a", "b"), (":path", "/")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":other", "x")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/a b")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("connection", "close")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("te", "gzip")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("Upper", "x")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("a", "x\ny")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("a b", "x")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("content-length", "-1")],
        [(":method", "POST"), (":scheme", "http"), (":path", "/"), ("content-length", "1"), ("content-length", "2")],
        [(":method", "CONNECT"), (":authority", "h"), (":path", "/")],
    ])
    func malformedRequestsAreResetAndTheTableGoesOn(_ fields: [(String, String)]) {
        var server = Server.begun()
        defer { server.free() }
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        func block(_ fields: [(String, String)]) -> [UInt8] {
            var buffer = ByteBuffer()
            try? encoder.encode(headers: HPACKHeaders(fields), to: &buffer)
            return Array(buffer.readableBytesView)
        }
        server.frame(GRPCPair.headers, flags: 0x4, on: 1, block(fields))
        #expect(server.events == [] && server.written() == ["3 1 4"])
        let good = [(":method", "POST"), (":scheme", "http"), (":path", "/good"), ("x-id", "7"), ("te", "trailers")]
        for id in [3, 5] {
            server.frame(GRPCPair.headers, flags: 0x4, on: HTTP2StreamID(id), block(good))
        }
        #expect(server.events == ["call 3 /good", "call 5 /good"])
        // The reset stream's data was on its way.
        server.frame(GRPCPair.data, on: 1, [1])
        #expect(server.events.count == 2)
    }

    @Test func moreStreamsThanPermittedAreRefused() {
        var server = Server.begun(streamsMax: 2)
        defer { server.free() }
        for id in [1, 3, 5] { server.call(HTTP2StreamID(id)) }
        #expect(server.events == ["call 1 /stream", "call 3 /stream"] && server.written() == ["3 5 4"])
        server.frame(GRPCPair.reset, on: 1, [0, 0, 0, 8])
        server.call(7)
        #expect(server.events.last == "call 7 /stream")
    }

    @Test func framesOfStreamsThatEndedLongAgoEndTheConnection() {
        var server = Server.begun()
        defer { server.free() }
        server.call(1, ends: true)
        #expect(server.end(1) == "over")
        // On their way when the stream ended.
        server.frame(GRPCPair.windowUpdate, on: 1, Self.increment(5))
        server.frame(GRPCPair.reset, on: 1, [0, 0, 0, 8])
        #expect(server.events == ["call 1 /stream ends", "cancelled"])
        server.frame(GRPCPair.data, on: 1, [1])
        #expect(server.events.last == "failed 5")
    }

    @Test func floodsFailAndRatesForgive() {
        var server = Server.begun()
        defer { server.free() }
        let ping = GRPCPair.bytes(GRPCPair.ping, on: 0, Array(repeating: 0, count: 8))
        // The settings were the first.
        for _ in 0..<19 { server.receive(ping) }
        #expect(server.events.last == "control")
        for _ in 0..<20 { server.receive(ping, nowMs: 1_000) }
        #expect(server.events.last == "control")
        server.receive(ping, nowMs: 1_000)
        #expect(server.events.last == "failed 11")
    }

    /// Frames in any order, some of them damaged, while calls answer: nothing traps, every stream ends once, and what
    /// is kept is bounded.
    @Test(arguments: 0..<200 * FuzzLength.factor) func damagedFramesNeverTrap(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var server = Server.begun(streamsMax: 4)
        defer { server.free() }
        var open: Set<HTTP2StreamID> = []
        var nextID = 1
        for step in 0..<200 {
            let id = HTTP2StreamID(random.below(3) == 0 ? nextID : max(0, nextID - 2 * random.below(6)))
            let kinds = [
                GRPCPair.headers, GRPCPair.data, GRPCPair.windowUpdate, GRPCPair.reset, GRPCPair.settings, 2, 9,
            ]
            let kind = kinds[random.below(random.below(4) == 0 ? 7 : 3)]
            let payload: [UInt8] =
                switch kind {
                case GRPCPair.headers: GRPCPair.streamFields
                case GRPCPair.data: Array(repeating: 0x61, count: random.below(300))
                case GRPCPair.settings: Self.setting(4, UInt32(random.below(100_000)))
                case 2: [0, 0, 0, 0, 1]
                default: Self.increment(UInt32(random.below(1_000)))
                }
            if kind == GRPCPair.headers, Int(id) >= nextID { nextID = Int(id) + 2 }
            var bytes = GRPCPair.bytes(
                kind, flags: kind == GRPCPair.headers ? 0x4 : 0, on: kind == GRPCPair.settings ? 0 : id, payload)
            if random.below(40) == 0 {
                let place = random.below(bytes.readableBytes)
                bytes.setInteger(UInt8(random.below(256)), at: place)
            }
            server.machine.received(bytes)
            // Time passes, so that the limits are not what ends it.
            while let event = server.machine.next(nowMs: Int64(step) * 1_000) {
                switch event {
                case .call(let id, _, _): #expect(open.insert(id).inserted, "seed \(seed)")
                case .closed(let id): #expect(open.remove(id) != nil, "seed \(seed)")
                case .data, .inputEnded, .controlFrame, .pong, .cancelled, .failed: break
                }
            }
            server.machine.settle()
            if let id = open.sorted().first, random.below(3) == 0 {
                server.machine.send(ByteBuffer(repeating: 0x62, count: random.below(30_000)), on: id)
                if random.below(3) == 0, server.machine.end(HPACKHeaders([("grpc-status", "0")]), on: id) {
                    open.remove(id)
                }
                _ = server.reserve(random.below(2_000), on: id)
            }
            if random.below(2) == 0 { for id in server.writtenAndClosed() { open.remove(id) } }
            #expect(open == Set(server.machine.streams.keys) && open.count <= 4, "seed \(seed), step \(step)")
            #expect(server.machine.ready.count <= 2 * 4 + 17, "seed \(seed), step \(step)")
        }
    }

    // MARK: Sending

    @Test func dataWaitsForTheWindowOfItsStream() {
        var server = Server.begun(Self.setting(4, 4))
        defer { server.free() }
        server.call(1)
        server.machine.sendHeaders(HPACKHeaders([(":status", "200")]), on: 1)
        server.machine.send(ByteBuffer(string: "one"), on: 1)
        server.machine.send(ByteBuffer(string: "two and three"), on: 1)
        #expect(server.reserve(1, on: 1) == "refused", "the headers are to be written")
        #expect(server.written() == ["1 1 1", "0 1 onet"])
        #expect(server.reserve(1, on: 1) == "refused", "data waits")
        #expect(server.end(1) == "open")
        server.frame(GRPCPair.windowUpdate, on: 1, Self.increment(3))
        #expect(server.written() == ["0 1 wo "])
        // A smaller window of new streams takes from that of open ones; then only what is given back counts.
        server.frame(GRPCPair.settings, on: 0, Self.setting(4, 1))
        server.frame(GRPCPair.windowUpdate, on: 1, Self.increment(3))
        #expect(server.written() == ["4 0 0"])
        server.frame(GRPCPair.windowUpdate, on: 1, Self.increment(2))
        #expect(server.written() == ["0 1 an"])
        server.frame(GRPCPair.settings, on: 0, Self.setting(4, 100))
        let end = server.written()
        #expect(end.prefix(2) == ["4 0 0", "0 1 d three"] && end.last?.hasSuffix("ends") == true && end.count == 3)
    }

    @Test func streamsShareTheWindowOfTheConnection() {
        var server = Server.begun(Self.setting(4, 0x7FFF_FFFF))
        defer { server.free() }
        for id in [1, 3] {
            server.call(HTTP2StreamID(id))
            server.machine.send(ByteBuffer(repeating: 0x61, count: 60_000), on: HTTP2StreamID(id))
        }
        let first = server.written().map { $0.split(separator: " ") }
        #expect(first.prefix(4).map { $0[1] } == ["1", "3", "1", "3"], "in turn")
        #expect(first.reduce(0) { $0 + $1[2].utf8.count } == 65_535)
        #expect(server.reserve(1, on: 1) == "refused")
        server.frame(GRPCPair.reset, on: 1, [0, 0, 0, 8])
        server.frame(GRPCPair.windowUpdate, on: 0, Self.increment(100_000))
        let second = server.written().map { $0.split(separator: " ") }
        #expect(second.allSatisfy { $0[1] == "3" })
        let sent = (first + second).filter { $0[1] == "3" }.reduce(0) { $0 + $1[2].utf8.count }
        #expect(sent == 60_000)
        #expect(server.reserve(16_385, on: 3) == "refused", "a frame has 16,384 bytes")
        #expect(server.reserve(16_384, on: 3) == "reserved")
        #expect(server.reserve(1, on: 1) == "refused", "the stream is gone")
    }

    /// Also while the window of the connection is closed.
    @Test func endedStreamsAreForgotten() {
        var server = Server.begun()
        defer { server.free() }
        server.call(1)
        server.machine.send(ByteBuffer(repeating: 0x61, count: 70_000), on: 1)
        _ = server.written()
        for id in stride(from: 3, to: 2_003, by: 2) {
            server.machine.limits.resets = EventLimit(eventsMax: 20, windowMs: 2_000)
            server.call(HTTP2StreamID(id))
            server.machine.send(ByteBuffer(string: "\(id)"), on: HTTP2StreamID(id))
            server.frame(GRPCPair.reset, on: HTTP2StreamID(id), [0, 0, 0, 8])
        }
        #expect(server.machine.ready.count < 30 && server.machine.streams.count == 1)
        server.call(2_003)
        server.machine.send(ByteBuffer(string: "last"), on: 2_003)
        server.frame(GRPCPair.windowUpdate, on: 0, Self.increment(10_000))
        server.frame(GRPCPair.windowUpdate, on: 1, Self.increment(10_000))
        #expect(server.written().map { $0.prefix(11) } == ["0 2003 last", "0 1 aaaaaaa"])
    }

    @Test func onlyTheLastStreamsThatWereResetAreRemembered() {
        var server = Server.begun(streamsMax: 3)
        defer { server.free() }
        for id in [1, 3, 5, 7, 9] {
            server.call(HTTP2StreamID(id))
            _ = server.machine.reset(HTTP2StreamID(id), .cancel)
        }
        server.events = []
        for id in [5, 7, 9] { server.frame(GRPCPair.data, on: HTTP2StreamID(id), [1]) }
        #expect(server.events == [])
        server.frame(GRPCPair.data, on: 3, [1])
        #expect(server.events == ["failed 5"])
    }

    @Test func aClientWithASmallerTableLearnsThatNoneIsUsed() throws {
        var server = Server.begun(Self.setting(1, 0))
        defer { server.free() }
        server.call(1)
        server.machine.sendHeaders(HPACKHeaders([(":status", "200")]), on: 1)
        #expect(server.written() == ["1 1 2"], "the size of the table and the status")
        #expect(server.end(1, [(":status", "200")]) == "open", "the client has not ended it")
        #expect(server.written() == ["1 1 1 ends"])
    }

    @Test(arguments: 0..<50) func headerBlocksAreReadAsTheyWereWritten(_ seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4_096, maxHeaderListSize: 1 << 20)
        var fields = HPACKHeaders([(":status", random.below(2) == 0 ? "200" : "415")])
        if random.below(2) == 0 { fields.add(name: "content-type", value: "application/grpc") }
        for number in 0..<random.below(6) {
            let length = [0, 1, 126, 127, 128, 254, 255, 256, 5_000, 20_000][random.below(10)]
            fields.add(name: "x-\(number)", value: String(repeating: "v", count: length))
        }
        var block = ByteBuffer()
        HeaderBlock.write(fields, to: &block)
        let read = try decoder.decodeHeaders(from: &block)
        #expect(read.map { "\($0.name)=\($0.value)" } == fields.map { "\($0.name)=\($0.value)" })
    }
}
