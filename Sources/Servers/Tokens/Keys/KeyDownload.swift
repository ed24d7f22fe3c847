package import OutboundHTTP

/// Downloads key sets over HTTP, at most `KeySource.bytesMax` bytes each. Follows no redirect, which would move the
/// trust to another host.
package struct KeyDownloads: Sendable {
    private let sender: HTTPSender
    private let timeoutMs: Int

    /// - Parameter timeoutMs: the limit for one download, from the look-up of the name to the last byte.
    package init(_ sender: HTTPSender, timeoutMs: Int = 10_000) {
        self.sender = sender
        self.timeoutMs = timeoutMs
    }

    func get(_ address: String) async throws(FetchError) -> [UInt8] {
        guard KeyURL.isValid(address) else { throw FetchError(code: .badAddress) }
        let outcome = await sender.send(
            HTTPSender.Request(
                url: address, headers: [("accept", "application/json"), ("user-agent", "freshet")],
                timeoutMs: timeoutMs, responseBytesMax: KeySource.bytesMax))
        switch outcome {
        case .success(let answer):
            guard answer.status == 200 else { throw FetchError(code: .badStatus, detail: "\(answer.status)") }
            return answer.body
        case .failure(.timedOut): throw FetchError(code: .timedOut)
        case .failure(.responseTooLarge): throw FetchError(code: .tooLarge)
        case .failure(.unreachable(let cause)): throw FetchError(code: .connectionFailed, detail: cause)
        case .failure(.broken(let cause)): throw FetchError(code: .closedEarly, detail: cause)
        case .failure(.stopped): throw FetchError(code: .stopped)
        }
    }
}
