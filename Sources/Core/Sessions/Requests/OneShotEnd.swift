package import LiveModel

/// The end of an operation that ran once, in the form in which its client learns of it. Generic over the answer, which
/// it never touches.
package enum OneShotEnd<Answer> {
    case finished(Answer)
    /// A query failed while it ran: its response has `data`, which is null (GraphQL §7.1.1).
    case queryFailed(RequestError)
    /// A mutation failed: its response is an error without `data`.
    case failed(RequestError)

    /// - Parameter isQuery: whether the operation is a query.
    package init(_ outcome: Result<Answer, RequestError>, isQuery: Bool) {
        switch outcome {
        case .success(let answer): self = .finished(answer)
        case .failure(let error): self = isQuery ? .queryFailed(error) : .failed(error)
        }
    }
}

extension OneShotEnd: Sendable where Answer: Sendable {}
extension OneShotEnd: Equatable where Answer: Equatable {}
