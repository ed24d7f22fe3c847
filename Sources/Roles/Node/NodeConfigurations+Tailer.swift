import Postgres
import RoleMachines
import Settings

/// The configuration of the reader of the database's log.
extension NodeContext {
    var tailerSettings: TailerMachine.Settings {
        var tailer = TailerMachine.Settings()
        tailer.standbyMs = Int64(settings.tailer.standbyMs)
        tailer.silenceMs = Int64(settings.tailer.silenceMs)
        tailer.retryMaxMs = Int64(settings.tailer.retryMaxMs)
        tailer.loadingMaxMs = Int64(settings.tailer.loadingMaxMs)
        tailer.appendRetryMaxMs = Int64(settings.tailer.appendRetryMaxMs)
        tailer.appendingMaxMs = Int64(settings.tailer.appendingMaxMs)
        tailer.inspectMs = Int64(settings.tailer.inspectMs)
        tailer.confirmMs = Int64(settings.tailer.confirmMs)
        tailer.idleConfirmMs = Int64(settings.tailer.idleConfirmMs)
        tailer.batchMax = settings.tailer.batchMax
        tailer.queueMax = settings.tailer.queueMax
        tailer.queuedChangesMax = settings.tailer.queuedChangesMax
        tailer.queuedBytesMax = settings.tailer.queuedBytesMax
        return tailer
    }

    var tailerStreamSettings: ReplicationStream.Settings {
        var stream = ReplicationStream.Settings()
        stream.connectTimeoutMs = settings.postgres.connectTimeoutMs
        stream.silenceMs = settings.tailer.serverSilenceMs
        return stream
    }
}
