import LiveModel
import RoleMachines
import Testing

@Suite struct NodePartTests {
    @Test(
        arguments: [
            (
                [.api, .worker, .gateway, .admin],
                [.membership, .deployments, .gateway, .sessions, .worker, .tailer, .sweeper]
            ),
            ([.gateway], [.membership, .deployments, .gateway, .sessions]),
            ([.worker], [.membership, .deployments, .sessions, .worker, .tailer, .sweeper]),
            ([.tailer], [.membership, .deployments, .sessions, .tailer, .sweeper]),
            ([.api], [.membership, .deployments, .sessions, .sweeper]),
            ([.admin], [.membership, .deployments, .sessions]),
        ] as [(Set<Role>, [NodePart])])
    func theRolesDecideWhichPartsStart(_ roles: Set<Role>, _ parts: [NodePart]) {
        #expect(NodePart.startOrder(of: roles) == parts)
    }

    @Test func everyPartThatStartsEnds() {
        for role in Role.allCases {
            #expect(Set(NodePart.stopOrder(of: [role])) == Set(NodePart.startOrder(of: [role])))
        }
    }

    /// A gateway delivers until its sessions have ended; nothing is assigned to a node that stops.
    @Test func theOrderOfTheEnd() {
        let order = NodePart.stopOrder(of: [.api, .worker, .gateway])
        #expect(order == [.membership, .sweeper, .tailer, .worker, .sessions, .gateway, .deployments])
    }
}
