/// JSON Patch (RFC 6902): describes the changes that turn a client's document into the current one.
package enum JSONPatch {
    /// Limits on the work of computing a patch.
    package struct Limits: Sendable, Hashable {
        /// Size of both texts together; larger ones are not compared.
        package var bytesMax: Int
        /// Number of values in one text.
        package var valuesMax = 100_000

        package init(bytesMax: Int) {
            self.bytesMax = bytesMax
        }
    }

    /// Returns the patch as JSON text. Returns nil if the new text is no longer than the patch, if the texts exceed the
    /// limits, or if one of them is not valid JSON.
    /// - Parameter pointer: the JSON pointer to the texts' position in the documents; `""` for the documents
    ///   themselves.
    package static func difference(
        from old: [UInt8], to new: [UInt8], at pointer: String = "", limits: Limits
    ) -> [UInt8]? {
        guard old.count + new.count <= limits.bytesMax, let oldTree = JSONTree(old, nodesMax: limits.valuesMax),
            let newTree = JSONTree(new, nodesMax: limits.valuesMax)
        else { return nil }
        var writer = PatchWriter(old: oldTree, new: newTree)
        guard writer.change(0, 0, path: Array(pointer.utf8)) else { return nil }
        // Drops the leading comma.
        let text = [UInt8(ascii: "[")] + writer.bytes.dropFirst() + [UInt8(ascii: "]")]
        return text.count < new.count ? text : nil
    }
}
