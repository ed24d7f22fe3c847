import Broker
import DeploymentPlan
import Embeddings
import GRPC
import HTTPServer
import Inspection
import Operations
import Postgres
import Refresh
import RoleMachines
import Sessions
import Sharding

/// The default settings of the parts, which state them; the sections take them from here.
enum Parts {
    static let refresh = RefreshSettings()
    static let worker = WorkerMachine.Settings()
    static let lease = LeaseMachine.Settings()
    static let membership = MembershipMachine.Settings()
    static let publisher = PublisherMachine.Settings()
    static let sweeper = SweeperMachine.Settings()
    static let keySweep = IdempotencySweep.Settings()
    static let tailer = TailerMachine.Settings()
    static let stream = ReplicationStream.Settings()
    static let interest = InterestMachine.Settings()
    static let session = SessionLimits()
    static let quotas = QuotaLimits()
    static let admission = SessionAdmission()
    static let addresses = ClientAddresses()
    static let rollout = RolloutMachine.Settings()
    static let catalog = CatalogOptions()
    static let embeddings = EmbeddingSettings()
    static let postgres = PostgresConfiguration(connectionString: "")
    static let redis = RedisConfiguration(endpoint: .unixSocket(path: ""))
    static let http = HTTPServerConfiguration()
    static let compression = CompressionConfiguration()
    static let recorder = Recorder.Settings()
    static let grpc = GRPCConfiguration()
}
