import JSON
package import LiveModel

/// A query or mutation over HTTP from a client of AppSync, such as Amplify: the token stands alone in `Authorization`,
/// and errors are read from the header `x-amzn-errortype` or a top-level `message`.
package struct AppSyncRequest: Sendable, Hashable {
    /// The token without a scheme.
    package let bareToken: String?
    /// Whether the request is signed (SigV4), which is not supported.
    package let isSigned: Bool

    /// Nil if nothing in the headers is AppSync's.
    package init?(header: (String) -> String?) {
        let authorization = header("authorization") ?? ""
        isSigned = authorization.hasPrefix("AWS4-")
        bareToken = Self.isToken(authorization) ? authorization : nil
        let isAmplify = header("x-amz-user-agent") != nil || header("x-amz-date") != nil
        if !isSigned, bareToken == nil, !isAmplify { return nil }
    }

    /// Whether the text has the form of a JWT: three parts in base64url.
    private static func isToken(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy {
                        switch $0 {
                        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }

    package static let signatureRefusal = RequestError(
        .unauthenticated, "requests signed with IAM (SigV4) are not supported")

    /// The value of `x-amzn-errortype`.
    package static func errorType(of code: ErrorCode) -> String {
        code == .limitExceeded ? "LimitExceededException" : AppSyncMachine.errorType(of: code)
    }

    /// The GraphQL response with `message` beside its errors.
    package static func body(_ error: RequestError, data: [UInt8]? = nil) -> [UInt8] {
        var bytes = Array(#"{"message":"#.utf8)
        JSONWriter.append(.string(error.message), to: &bytes)
        bytes.append(UInt8(ascii: ","))
        return bytes + ResultEnvelope.errors([error], body: data).dropFirst()
    }
}
