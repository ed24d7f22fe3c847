/// Holds a response back until there is one, the time is over or the client is gone. Called on the event loop.
package protocol ResponseWaiter: AnyObject {
    func deadlineReached()
    /// The client has half-closed and may be gone: the response is due now.
    func inputEnded()
    func connectionLost()
}

/// An object that an application keeps with a connection from a response to the client's next request. Called on the
/// event loop.
package protocol ConnectionAttachment: AnyObject {
    /// Handles the next request, which has the same header as the last one and the expected `If-None-Match`.
    /// - Returns: false to have it handled as any other request; then the attachment is over.
    func continues(_ exchange: HTTPExchange) -> Bool
    /// Called when the next request is another one, does not come in time, or cannot come any more.
    func detached()
}
