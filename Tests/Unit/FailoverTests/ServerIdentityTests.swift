import Failover
import Testing

@Suite struct ServerIdentityTests {
    @Test(arguments: [
        (servers: [], changes: 0),
        (servers: ["a"], changes: 0),
        (servers: ["a", "a", "a"], changes: 0),
        (servers: ["a", "b", "b"], changes: 1),
        (servers: ["a", "b", "a"], changes: 2),
        // A server without a name is one, too.
        (servers: ["", "a"], changes: 1),
    ])
    func anotherServerThanBeforeIsAChange(servers: [String], changes: Int) {
        var identity = ServerIdentity()
        let noticed = servers.map { identity.met($0) }
        #expect(identity.changes == changes && identity.current == servers.last)
        #expect(noticed.filter(\.self).count == changes && noticed.first != true)
    }
}
