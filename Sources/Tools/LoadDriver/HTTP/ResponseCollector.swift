import NIOCore
import NIOHTTP1
import ProtocolClients

/// Collects one response.
final class ResponseCollector {
    private var head: HTTPResponseHead?
    private var bytes: [UInt8] = []
    private var isTooLarge = false

    func head(_ head: HTTPResponseHead) {
        self.head = head
    }

    func body(_ part: ByteBuffer) {
        guard bytes.count + part.readableBytes <= PlainResponse.bodyBytesMax else {
            isTooLarge = true
            return
        }
        bytes.append(contentsOf: part.readableBytesView)
    }

    func result(_ error: ClientError?) -> Result<PlainResponse, CodedFailure> {
        if let error { return .failure(CodedFailure(error)) }
        guard let head, !isTooLarge else {
            return .failure(CodedFailure(code: "PROTOCOL_VIOLATION", message: "the response is too large"))
        }
        return .success(PlainResponse(status: Int(head.status.code), headers: head.headers, body: bytes))
    }
}
