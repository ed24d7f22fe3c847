import LiveModel
import RoleMachines

/// The versions of the project that a process serves at one time, by their numbers.
struct SimulatedCatalogs: PublishingRules {
    /// The version of new requests and sessions.
    var current: Int
    /// The others, which are announced or were current.
    var others: [Int] = []
    /// The greatest deployment id up to which every deployment is loaded.
    var loadedDeployment: Int64

    var numbers: [Int] { [current] + others }

    func serves(_ version: Digest) -> Bool { numbers.contains { Workload.version($0) == version } }

    func authReads(of mutation: OperationReference) -> AuthReads { .nothing }
    var recordedFields: [String: RecordedFields]? { nil }

    func queriesRefreshed(by mutation: OperationReference) -> [OperationReference]? {
        let isRare = mutation == Workload.rareMutation
        let late = numbers.filter { isRare ? Workload.readsRareEntity($0) : $0 > 1 }.map(Workload.late)
        return (isRare ? [] : Workload.refreshed) + Set(late).sorted { $0.operation < $1.operation }
    }
}

/// The catalogs of a process, shared with the rules of its worker. Unchecked: a simulation runs on one thread.
final class SharedCatalogs: @unchecked Sendable {
    var served: SimulatedCatalogs

    init(_ served: SimulatedCatalogs) { self.served = served }
}
