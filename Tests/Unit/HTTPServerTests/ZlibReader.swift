import CZlib
import NIOCore

@testable import HTTPServer

/// Decompresses with zlib alone, whatever cuts the input has.
enum ZlibReader {
    struct Failure: Error { var status: CInt }

    enum Form: CInt {
        case raw = -15
        case rawWithSmallWindow = -12
        case gzip = 31
    }

    /// - Parameters:
    ///   - pieces: the input in the pieces in which it arrives.
    /// - Returns: what each piece yielded at once.
    static func read(_ pieces: [[UInt8]], _ form: Form) throws -> [[UInt8]] {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        inflateInit2_(stream, form.rawValue, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        defer { inflateEnd(stream) }
        var room = [UInt8](repeating: 0, count: 4 << 20)
        var ended = false
        let outputs = try pieces.map { piece -> [UInt8] in
            var input = piece
            let count = try input.withUnsafeMutableBufferPointer { input in
                try room.withUnsafeMutableBufferPointer { output in
                    stream.pointee.next_in = input.baseAddress
                    stream.pointee.avail_in = CUnsignedInt(input.count)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = CUnsignedInt(output.count)
                    let status = inflate(stream, Z_SYNC_FLUSH)
                    ended = status == Z_STREAM_END
                    guard status == Z_OK || ended || status == Z_BUF_ERROR, stream.pointee.avail_in == 0 else {
                        throw Failure(status: status)
                    }
                    return output.count - Int(stream.pointee.avail_out)
                }
            }
            return Array(room[..<count])
        }
        // Checksum and length are right if zlib has seen the end.
        if form == .gzip, !ended { throw Failure(status: Z_BUF_ERROR) }
        return outputs
    }

    /// The payload of a WebSocket message.
    static func message(_ payload: [UInt8], _ form: Form = .raw) throws -> [UInt8] {
        try read([payload + DeflateBlocks.flush], form)[0]
    }

    static func gzip(_ file: [UInt8]) throws -> [UInt8] { try read([file], .gzip)[0] }

    /// Compresses as a client does: raw, with a flush, without the four bytes at the end.
    static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        deflateInit2_(stream, 9, Z_DEFLATED, -15, 8, 0, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        defer { deflateEnd(stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: bytes.count + 1_000))
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = CUnsignedInt(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = CUnsignedInt(output.count)
                deflate(stream, Z_SYNC_FLUSH)
                return output.count - Int(stream.pointee.avail_out)
            }
        }
        return Array(output[..<(count - 4)])
    }
}
