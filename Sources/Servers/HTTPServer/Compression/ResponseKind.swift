import NIOCore
package import NIOHTTP1

/// The kind of a response's body, as far as compression is concerned.
package enum ResponseKind: Sendable {
    /// The result of an operation, or a 304 in place of one: compressed as the request's `Accept-Encoding` says.
    case result
    /// A patch to a result that the client holds. With gzip the patch itself is compressed, which RFC 3229 calls an
    /// instance manipulation; a content coding would be that of the result.
    case patch(acceptsGzip: Bool)
    /// Anything else, such as errors and pages, is never compressed.
    case other

    var mayBeCompressed: Bool {
        switch self {
        case .result, .patch(acceptsGzip: true): true
        case .patch(acceptsGzip: false), .other: false
        }
    }

    /// Compresses a body and says so in the headers.
    /// - Parameters:
    ///   - shared: the same body, if other responses have it, too.
    ///   - isSent: whether the body will be sent, and not only its length.
    func encode(
        _ headers: inout HTTPHeaders, _ body: inout ByteBuffer, shared: SharedBody?, prefersGzip: Bool, isSent: Bool,
        _ compression: LoopCompression
    ) {
        let isPatch = if case .patch = self { true } else { false }
        if !isPatch { headers.addVary("Accept-Encoding") }
        guard isPatch || prefersGzip else { return }
        let segment = shared?.segment(.large, compression)
        guard let file = shared == nil ? compression.gzip(body) : segment.map(LoopCompression.gzip) else { return }
        if isSent { compression.sent(plainBytes: body.readableBytes, sentBytes: file.readableBytes) }
        body = file
        if isPatch {
            headers.replaceOrAdd(name: "im", value: (headers["im"] + ["gzip"]).joined(separator: ", "))
        } else {
            headers.replaceOrAdd(name: "content-encoding", value: "gzip")
            headers.weakenTag()
        }
    }
}

extension HTTPHeaders {
    /// Adds a field's name to `Vary`.
    mutating func addVary(_ name: String) {
        let names = self[canonicalForm: "vary"].map(String.init)
        if names.contains(where: { $0 == "*" || $0.lowercased() == name.lowercased() }) { return }
        replaceOrAdd(name: "vary", value: (names + [name]).joined(separator: ", "))
    }

    /// Makes the `ETag` weak: compressed and plain bodies have the same one, though their bytes differ (RFC 9110
    /// section 8.8.1).
    fileprivate mutating func weakenTag() {
        guard let tag = first(name: "etag"), !tag.hasPrefix("W/") else { return }
        replaceOrAdd(name: "etag", value: "W/" + tag)
    }
}
