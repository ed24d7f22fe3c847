/// The blocks around shared compressed segments: stored data, and the ends of messages and files.
///
/// A segment ends with the empty block of zlib's `Z_SYNC_FLUSH`, so each part of a message begins at a byte. It refers
/// to nothing before it, so any bytes may precede it. RFC 1951, RFC 1952, RFC 7692 section 7.2.
enum DeflateBlocks {
    /// The length of a stored block's header.
    static let storedHeaderBytes = 5
    /// The most data of one stored block.
    static let storedBytesMax = 65_535
    /// The end of a segment, which the last one of a WebSocket message leaves out.
    static let flush: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    /// Begins an empty block; the last byte of a message that ends with a stored block.
    static let messageEnd: UInt8 = 0x00
    /// The last block of a file; it is empty.
    static let last: [UInt8] = [0x03, 0x00]
    /// The header of a gzip file without name and time.
    static let gzipHeader: [UInt8] = [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0xFF]
    /// The length of a gzip file's end: the last block, the checksum and the length.
    static let gzipEndBytes = 10

    /// The length of the stored blocks that hold `count` bytes; 0 for none.
    static func storedBytes(_ count: Int) -> Int {
        count + (count + storedBytesMax - 1) / storedBytesMax * storedHeaderBytes
    }

    /// Writes stored blocks that hold the bytes; returns their length.
    @discardableResult
    static func store(_ bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawPointer) -> Int {
        var (read, written) = (0, 0)
        while read < bytes.count {
            let count = min(bytes.count - read, storedBytesMax)
            let length = UInt16(count)
            memory.storeBytes(of: 0, toByteOffset: written, as: UInt8.self)
            memory.storeBytes(of: length.littleEndian, toByteOffset: written + 1, as: UInt16.self)
            memory.storeBytes(of: (~length).littleEndian, toByteOffset: written + 3, as: UInt16.self)
            (memory + written + storedHeaderBytes).copyMemory(from: bytes.baseAddress! + read, byteCount: count)
            read += count
            written += storedHeaderBytes + count
        }
        return written
    }

    static func stored(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        return [UInt8](unsafeUninitializedCapacity: storedBytes(bytes.count)) { memory, count in
            count = bytes.withUnsafeBytes { $0.isEmpty ? 0 : store($0, to: memory.baseAddress!) }
        }
    }

    /// The end of a gzip file after complete blocks.
    static func gzipEnd(_ checksum: GzipChecksum) -> [UInt8] {
        var bytes = last
        for word in [checksum.crc, checksum.length] {
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }
}

/// The checksum and length of what a gzip file holds so far (RFC 1952 section 2.3.1).
struct GzipChecksum: Hashable {
    private(set) var crc: UInt32 = 0
    /// Modulo 2^32.
    private(set) var length: UInt32 = 0

    /// Adds a part whose checksum is known.
    /// - Parameter shift: `shift(length)`, which is worth keeping for a part that is added often.
    mutating func append(crc other: UInt32, length count: Int, shift: UInt32) {
        crc = Self.product(shift, crc) ^ other
        length &+= UInt32(truncatingIfNeeded: count)
    }

    /// The factor by which `length` further bytes change a checksum: x^(8 × length) modulo the polynomial.
    static func shift(_ length: Int) -> UInt32 {
        var (factor, square, rest) = (one, xToThe8, length)
        while rest > 0 {
            if rest & 1 == 1 { factor = product(square, factor) }
            square = product(square, square)
            rest >>= 1
        }
        return factor
    }

    private static let one: UInt32 = 1 << 31
    private static let xToThe8: UInt32 = 1 << 23
    private static let polynomial: UInt32 = 0xEDB8_8320

    /// The product of two polynomials over GF(2) modulo `polynomial`; their highest coefficient is the lowest bit.
    private static func product(_ left: UInt32, _ right: UInt32) -> UInt32 {
        var (product, right): (UInt32, UInt32) = (0, right)
        var bit: UInt32 = 1 << 31
        while bit != 0 {
            if left & bit != 0 { product ^= right }
            right = right & 1 == 1 ? right >> 1 ^ polynomial : right >> 1
            bit >>= 1
        }
        return product
    }
}
