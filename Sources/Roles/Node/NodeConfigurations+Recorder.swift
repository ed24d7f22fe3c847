import Inspection
import Settings

extension NodeContext {
    /// The bounds of what is recorded while operators look.
    var recorderSettings: Recorder.Settings {
        let inspect = settings.inspect
        var recorder = Recorder.Settings()
        recorder.armedMs = Int64(inspect.armedMs)
        recorder.queriesMax = inspect.liveQueriesMax
        recorder.decisionsMax = inspect.decisionsMax
        recorder.bytesMax = inspect.recordedBytesMax
        recorder.spansMax = inspect.spansMax
        recorder.tracesPerSecond = inspect.tracesPerSecond
        recorder.tailsMax = inspect.tailsMax
        recorder.eventsMax = inspect.eventsMax
        recorder.eventsBytesMax = inspect.eventsBytesMax
        recorder.flightsMax = inspect.flightsMax
        recorder.flightEntriesMax = inspect.flightEntriesMax
        recorder.redaction = Redaction(names: inspect.redacted)
        return recorder
    }
}
