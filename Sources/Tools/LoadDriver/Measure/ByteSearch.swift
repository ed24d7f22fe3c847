import Glibc

enum ByteSearch {
    /// Returns the offset of the first occurrence at or after `from`. Searches with `memchr`, so needles should start
    /// with a rare byte.
    static func offset(of needle: [UInt8], in bytes: UnsafeRawBufferPointer, from: Int = 0) -> Int? {
        guard let base = bytes.baseAddress, let first = needle.first else { return nil }
        var at = from
        while at + needle.count <= bytes.count {
            guard let hit = memchr(base + at, Int32(first), bytes.count - needle.count + 1 - at) else { return nil }
            let offset = UnsafeRawPointer(hit) - base
            if memcmp(hit, needle, needle.count) == 0 { return offset }
            at = offset + 1
        }
        return nil
    }

    static func isEqual(_ array: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard array.count == bytes.count else { return false }
        guard let base = bytes.baseAddress, !array.isEmpty else { return true }
        return memcmp(array, base, bytes.count) == 0
    }
}
