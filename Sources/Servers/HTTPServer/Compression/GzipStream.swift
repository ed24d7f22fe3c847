/// A response that is one gzip file, in parts that the client can decompress as they arrive.
struct GzipStream {
    private var checksum = GzipChecksum()
    private var hasBegun = false

    /// Adds a body in complete blocks and the bytes before it.
    /// - Returns: the bytes to be sent before the blocks.
    mutating func append(prefix: [UInt8], _ segment: DeflateSegment) -> [UInt8] {
        let bytes = begin() + DeflateBlocks.stored(prefix)
        if !prefix.isEmpty {
            checksum.append(
                crc: prefix.withUnsafeBytes(Deflater.crc), length: prefix.count,
                shift: GzipChecksum.shift(prefix.count))
        }
        checksum.append(crc: segment.crc, length: segment.plainBytes, shift: segment.shift)
        return bytes
    }

    /// Returns the bytes that complete the file.
    mutating func end() -> [UInt8] { begin() + DeflateBlocks.gzipEnd(checksum) }

    private mutating func begin() -> [UInt8] {
        if hasBegun { return [] }
        hasBegun = true
        return DeflateBlocks.gzipHeader
    }
}
