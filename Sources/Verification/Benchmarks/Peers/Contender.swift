/// A server in the comparison.
enum Contender: String, Sendable {
    case freshet = "Freshet, whole node"
    case nchan = "nchan"
    case nchanRedis = "nchan over Redis"
    case bareC = "bare C send loop"
    case nats = "nats-server"
}

/// A server that is measured.
struct RunningPeer: Sendable {
    let contender: Contender
    let port: Int
    /// Its process; nginx has its worker below this one.
    let process: Int32
    /// The other servers that it uses.
    var helpers: [(name: String, process: Int32)] = []
}
