import Execution
import RoleMachines
import Settings

/// The configuration of idempotency keys.
extension NodeContext {
    var idempotencySettings: KeyedMutation.Settings {
        var idempotency = KeyedMutation.Settings()
        idempotency.keepMs = Int64(settings.api.idempotencyKeepMs)
        idempotency.answerBytesMax = settings.api.idempotencyAnswerBytesMax
        idempotency.waitMs = Int64(settings.api.idempotencyWaitMs)
        return idempotency
    }

    var idempotencySweepSettings: IdempotencySweep.Settings {
        var sweep = IdempotencySweep.Settings()
        sweep.sweepMs = Int64(settings.api.idempotencySweepMs)
        sweep.keepMs = Int64(settings.api.idempotencyKeepMs)
        sweep.rowsMax = settings.api.idempotencyRowsMax
        return sweep
    }
}
