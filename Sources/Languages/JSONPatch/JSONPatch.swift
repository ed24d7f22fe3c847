/// JSON Patch (RFC 6902): what to change in a document that a client holds to make it the present one.
package enum JSONPatch {
    package struct Limits: Sendable, Hashable {
        /// Of both texts together; larger ones are not compared.
        package var bytesMax: Int
        /// Values in one text.
        package var valuesMax = 100_000

        package init(bytesMax: Int) {
            self.bytesMax = bytesMax
        }
    }

    /// The patch as JSON text. Nil: the whole new text is no longer than the patch, or comparing is more work than the
    /// limits allow, or one of them is not JSON.
    /// - Parameter pointer: where the texts stand in the documents, as a JSON pointer; `""` for the documents themselves.
    package static func difference(
        from old: [UInt8], to new: [UInt8], at pointer: String = "", limits: Limits
    ) -> [UInt8]? {
        guard old.count + new.count <= limits.bytesMax, let oldTree = JSONTree(old, nodesMax: limits.valuesMax),
            let newTree = JSONTree(new, nodesMax: limits.valuesMax)
        else { return nil }
        var writer = PatchWriter(old: oldTree, new: newTree)
        guard writer.change(0, 0, path: Array(pointer.utf8)) else { return nil }
        // Without the first comma, in brackets.
        let text = [UInt8(ascii: "[")] + writer.bytes.dropFirst() + [UInt8(ascii: "]")]
        return text.count < new.count ? text : nil
    }
}
