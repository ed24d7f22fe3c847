import CZlib
import NIOCore
import SeededRandom
import Testing

@testable import HTTPServer

/// Segments, stored blocks and gzip files, read by zlib.
@Suite struct DeflateTests {
    /// JSON-like text of about this many bytes.
    static func text(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            bytes += Array(#"{"id":"\#(random.next())","name":"lot \#(random.below(9))","open":true},"#.utf8)
        }
        return Array(bytes.prefix(count))
    }

    static func segment(_ bytes: [UInt8], _ window: DeflateWindow = .large) throws -> DeflateSegment {
        let deflater = try #require(Deflater(window, level: 1))
        let plain = ByteBuffer(bytes: bytes)
        return DeflateSegment(blocks: try #require(deflater.segment(plain)), of: plain)
    }

    private static func array(_ buffer: ByteBuffer) -> [UInt8] { Array(buffer.readableBytesView) }

    @Test(arguments: DeflateWindow.allCases)
    func messagesOfAPrefixAndASegmentAreRead(_ window: DeflateWindow) throws {
        var random = SeededRandom(seed: 11)
        let form = window == .small ? ZlibReader.Form.rawWithSmallWindow : .raw
        for round in 0..<60 {
            let prefix = Self.text([0, 1, 40, 65_535, 65_536, 70_000, 140_000][random.below(7)], &random)
            let body = Self.text(100 + random.below(round % 9 == 0 ? 200_000 : 5_000), &random)
            let segment = try Self.segment(body, window)
            let payload = DeflateBlocks.stored(prefix) + Self.array(segment.messageEnd)
            #expect(try ZlibReader.message(payload, form) == prefix + body, "round \(round)")
            // The same bytes behind another prefix: the segment refers to nothing before it.
            #expect(
                try ZlibReader.message(DeflateBlocks.stored([1, 2]) + Self.array(segment.messageEnd), form)
                    == [1, 2] + body)
        }
    }

    @Test func aDeflaterRemembersNothing() throws {
        var random = SeededRandom(seed: 3)
        let deflater = try #require(Deflater(.large, level: 6))
        let bytes = ByteBuffer(bytes: Self.text(3_000, &random))
        let first = deflater.segment(bytes)
        _ = deflater.segment(ByteBuffer(bytes: Self.text(9_000, &random)))
        #expect(deflater.segment(ByteBuffer(bytes: (0..<500).map { _ in UInt8(random.below(256)) })) == nil)
        #expect(first != nil && deflater.segment(bytes) == first)
    }

    @Test func incompressibleBytesAreLeft() throws {
        var random = SeededRandom(seed: 5)
        let deflater = try #require(Deflater(.large, level: 9))
        for count in [0, 1, 5, 2_000, 70_000] {
            #expect(deflater.segment(ByteBuffer(bytes: (0..<count).map { _ in UInt8(random.below(256)) })) == nil)
        }
    }

    @Test func gzipStreamsAreReadPartByPart() throws {
        var random = SeededRandom(seed: 21)
        for round in 0..<40 {
            var (stream, sent, plain) = (GzipStream(), [[UInt8]](), [[UInt8]]())
            for _ in 0..<random.below(8) {
                let prefix = Self.text(random.below(3) * random.below(50), &random)
                let body = Self.text(random.below(3_000) + 1, &random)
                let isStored = random.below(2) == 0 || body.count < 200
                let segment =
                    isStored ? DeflateSegment(storing: ByteBuffer(bytes: body)) : try Self.segment(body)
                sent.append(stream.append(prefix: prefix, segment) + Self.array(segment.blocks))
                plain.append(prefix + body)
            }
            sent.append(stream.end())
            plain.append([])
            #expect(try ZlibReader.read(sent, .gzip) == plain, "round \(round)")
            // However the bytes are cut.
            var (cut, rest) = ([[UInt8]](), sent.flatMap(\.self)[...])
            while !rest.isEmpty {
                let count = min(rest.count, 1 + random.below(700))
                cut.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(try ZlibReader.read(cut, .gzip).flatMap(\.self) == plain.flatMap(\.self), "round \(round)")
        }
    }

    @Test func checksumsOfPartsAreThatOfTheWhole() {
        var random = SeededRandom(seed: 8)
        for _ in 0..<100 {
            let (first, second) = (Self.text(random.below(500), &random), Self.text(random.below(70_000), &random))
            var checksum = GzipChecksum()
            for part in [first, second] {
                checksum.append(
                    crc: part.withUnsafeBytes(Deflater.crc), length: part.count,
                    shift: GzipChecksum.shift(part.count))
            }
            #expect(checksum.crc == (first + second).withUnsafeBytes(Deflater.crc))
            #expect(checksum.length == UInt32(first.count + second.count))
        }
    }

    // MARK: Inflating

    private static func inflate(_ payload: [UInt8], bytesMax: Int = 1 << 20) throws -> Inflater.Outcome {
        try #require(Inflater()).inflate(ByteBuffer(bytes: payload), bytesMax: bytesMax)
    }

    @Test func messagesOfClientsAreRead() throws {
        var random = SeededRandom(seed: 13)
        let inflater = try #require(Inflater())
        for count in [0, 1, 100, 16_383, 16_384, 16_385, 300_000] {
            let bytes = Self.text(count, &random)
            let payload = ByteBuffer(bytes: ZlibReader.compressed(bytes))
            #expect(inflater.inflate(payload, bytesMax: 1 << 20) == .bytes(ByteBuffer(bytes: bytes)))
            #expect(inflater.inflate(payload, bytesMax: count) == .bytes(ByteBuffer(bytes: bytes)))
            if count > 0 { #expect(inflater.inflate(payload, bytesMax: count - 1) == .tooLong) }
        }
    }

    /// The examples of RFC 7692 section 7.2.3: compressed, in two blocks, stored, final, empty.
    @Test(
        arguments: [
            ([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
            ([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], "Hello"),
            ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "Hello"),
            ([0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
            ([0x00], ""),
        ] as [([UInt8], String)])
    func examplesOfTheSpecificationAreRead(_ payload: [UInt8], _ text: String) throws {
        #expect(try Self.inflate(payload) == .bytes(ByteBuffer(string: text)))
    }

    @Test func aBombIsCutShort() throws {
        let bomb = ZlibReader.compressed([UInt8](repeating: 0x30, count: 64 << 20))
        #expect(bomb.count < 100_000)
        #expect(try Self.inflate(bomb) == .tooLong)
    }

    @Test func garbageIsFound() throws {
        var random = SeededRandom(seed: 17)
        #expect(try Self.inflate([]) == .malformed)
        #expect(try Self.inflate([0xFF, 0xFF]) == .malformed)
        // Many final blocks.
        #expect(try Self.inflate((0..<1_000).flatMap { _ in [0x03, 0x00] } + [0x00]) == .malformed)
        let whole = ZlibReader.compressed(Self.text(4_000, &random))
        for end in stride(from: 1, to: whole.count - 1, by: 37) {
            let outcome = try Self.inflate(Array(whole[..<end]))
            #expect(outcome == .malformed, "cut at \(end)")
        }
        // Random bytes end in some outcome, and leave the inflater usable.
        let inflater = try #require(Inflater())
        for _ in 0..<500 {
            let bytes = (0..<random.below(300)).map { _ in UInt8(random.below(256)) }
            _ = inflater.inflate(ByteBuffer(bytes: bytes), bytesMax: 10_000)
        }
        #expect(
            inflater.inflate(ByteBuffer(bytes: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), bytesMax: 5)
                == .bytes(ByteBuffer(string: "Hello")))
    }
}

@Suite struct CompressionPolicyTests {
    private static func policy(perSecond: Int) -> CompressionPolicy {
        var configuration = CompressionConfiguration()
        configuration.bodyBytesMin = 100
        configuration.bodyBytesMax = 1_000
        configuration.bytesPerSecond = perSecond
        return CompressionPolicy(configuration)
    }

    @Test(
        arguments: [(99, .leave), (100, .compress), (1_000, .compress), (1_001, .leave)]
            as [(Int, CompressionPolicy.Decision)])
    func shortAndLongBodiesAreLeft(_ bytes: Int, _ decision: CompressionPolicy.Decision) {
        var policy = Self.policy(perSecond: 10_000)
        #expect(policy.decide(byteCount: bytes, nowMs: 0) == decision)
    }

    @Test func aSecondHasItsBytes() {
        var policy = Self.policy(perSecond: 2_000)
        #expect((0..<3).map { _ in policy.decide(byteCount: 1_000, nowMs: 5) } == [.compress, .compress, .overBudget])
        #expect(policy.decide(byteCount: 1_000, nowMs: 504) == .overBudget)
        #expect(policy.decide(byteCount: 1_000, nowMs: 505) == .compress)
        // A pause saves up no more than a second's.
        #expect((0..<3).map { _ in policy.decide(byteCount: 1_000, nowMs: 90_000) }.last == .overBudget)
    }

    @Test func theLongestBodyFitsAFullBudget() {
        var policy = Self.policy(perSecond: 10)
        #expect(policy.decide(byteCount: 1_000, nowMs: 0) == .compress)
        #expect(policy.decide(byteCount: 1_000, nowMs: 99_000) == .overBudget)
        #expect(policy.decide(byteCount: 1_000, nowMs: 100_000) == .compress)
    }
}
