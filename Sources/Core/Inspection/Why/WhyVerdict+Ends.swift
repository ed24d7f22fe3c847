/// The end of the session in question: why.
extension WhyVerdict {
    static func ofEnd(_ end: EndRecord, _ facts: WhyFacts) -> WhyVerdict {
        let when = "\(ago(facts.nowMs - end.atMs)) ago"
        switch end.reason {
        case "token_expired":
            return WhyVerdict(
                .tokenExpired, "The session \(end.session) ended \(when), because its token had expired.",
                next: ["Have the client refresh its token before it expires."])
        case "user_revoked":
            return WhyVerdict(
                .userRevoked, "The session \(end.session) ended \(when), because its user was revoked.",
                next: ["freshet admin revocations"])
        case "auth_refused":
            return WhyVerdict(
                .authRefused, "The subscription of \(end.session) ended \(when): @auth no longer allows it.")
        case "client_stalled":
            return WhyVerdict(
                .clientStalled, "The session \(end.session) was closed \(when), because its client did not read.")
        case "drained":
            return WhyVerdict(
                .nodeDrained, "The session \(end.session) was asked to reconnect \(when), because its node drains.")
        default:
            return WhyVerdict(
                .notFollowed, "The session \(end.session) left this live query \(when).",
                next: ["Ask again once the client has subscribed."])
        }
    }
}
