import Admin
import Inspection
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

    /// The bounds of what a node records for operators.
    var recorderSettings: Recorder.Settings {
        let inspect = settings.inspect
        var recorder = Recorder.Settings()
        recorder.armedMs = Int64(inspect.armedMs)
        recorder.queriesMax = inspect.liveQueriesMax
        recorder.decisionsMax = inspect.decisionsMax
        recorder.bytesMax = inspect.bytesMax
        recorder.spansMax = inspect.spansMax
        recorder.tracesPerSecond = inspect.tracesPerSecond
        recorder.tailsMax = inspect.tailsMax
        recorder.redaction = Redaction(names: inspect.redacted)
        return recorder
    }
}
