package import HTTPServer
package import JSON
package import LiveModel
import NIOCore
import NIOHTTP1
import Sessions

extension HTTPExchange {
    /// Responds with an error.
    /// - Parameter body: nil sends the error in GraphQL's form.
    func respond(
        _ error: RequestError, headers: HTTPHeaders, contentType: String = "application/json", body: [UInt8]? = nil
    ) {
        var headers = headers
        headers.setRetryAfter(of: error)
        if error.code == .unauthenticated { headers.replaceOrAdd(name: "www-authenticate", value: "Bearer") }
        headers.replaceOrAdd(name: "content-type", value: contentType)
        respond(
            HTTPResponseStatus(statusCode: error.code.httpStatus), headers: headers,
            body: body ?? ResultEnvelope.errors([error]))
    }

    func respond(
        json body: [UInt8], status: HTTPResponseStatus = .ok, headers: HTTPHeaders, as kind: ResponseKind = .other
    ) {
        var headers = headers
        headers.replaceOrAdd(name: "content-type", value: "application/json")
        respond(status, headers: headers, body: body, as: kind)
    }
}

extension HTTPHeaders {
    /// Creates headers with nothing but `Retry-After`, if the error says when to retry.
    init(retryAfterOf error: RequestError) {
        self.init()
        setRetryAfter(of: error)
    }

    /// Sets `Retry-After` in whole seconds (RFC 9110 section 10.2.3), if the error says when to retry.
    mutating func setRetryAfter(of error: RequestError) {
        guard let ms = error.retryAfterMs else { return }
        replaceOrAdd(name: "retry-after", value: String(Swift.max(1, (ms + 999) / 1_000)))
    }

    func withAppSyncType(of error: RequestError) -> HTTPHeaders {
        var headers = self
        headers.replaceOrAdd(name: "x-amzn-errortype", value: AppSyncRequest.errorType(of: error.code))
        return headers
    }
}

extension HTTPRequest {
    /// Parses the body as a JSON object; an empty body is an empty object.
    /// - Throws: `.unsupportedMediaType` or `.badRequest`.
    package func jsonBody() throws(RequestError) -> JSONObject {
        if let type = header("content-type") {
            guard type == "application/json" || Self.essence(of: type) == "application/json" else {
                throw RequestError(.unsupportedMediaType, "the body must be application/json")
            }
        } else if body.readableBytes > 0 {
            throw RequestError(.unsupportedMediaType, "the body has no content-type; it must be application/json")
        }
        if body.readableBytes == 0 { return JSONObject() }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(body.readableBytesView))
        } catch {
            throw RequestError(.badRequest, "the body is not JSON: \(error)")
        }
        guard case .object(let object) = value else {
            throw RequestError(.badRequest, "the body must be a JSON object")
        }
        return object
    }

    /// Returns a media type without its parameters (RFC 9110 section 8.3.1).
    private static func essence(of mediaType: String) -> String {
        mediaType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
    }

    /// Parses a query item as a JSON object; an absent or empty item is an empty object.
    func jsonObject(inQuery name: String) throws(RequestError) -> JSONObject {
        guard let text = query(name), !text.isEmpty else { return JSONObject() }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), case .object(let object) = value else {
            throw RequestError(.badRequest, "the query item \"\(name)\" must be a JSON object")
        }
        return object
    }
}
