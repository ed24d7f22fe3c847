import Admin
import Settings

extension NodeContext {
    /// How the admin port asks those of other nodes.
    var peerSettings: PeerReports.Settings {
        var peers = PeerReports.Settings()
        peers.timeoutMs = settings.admin.peerTimeoutMs
        peers.answerBytesMax = settings.admin.peerBytesMax
        peers.peersMax = settings.admin.peersMax
        return peers
    }

    var reportStreamsMax: Int { settings.inspect.reportStreamsMax }
}
