/// A session that can tell its client to come back elsewhere.
package protocol Drainable: AnyObject {
    func goAway()
}

extension GraphQLWebSocketSession: Drainable {}
extension EventStream: Drainable {}
