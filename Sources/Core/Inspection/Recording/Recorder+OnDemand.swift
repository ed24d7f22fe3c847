/// Recordings that operators start: of events, and of what happens to users.
extension Recorder {
    // MARK: Events for trials of rules

    /// Records all events and runs of the worker for a time.
    package mutating func recordEvents(forMs: Int64, nowMs: Int64) {
        if capture == nil {
            capture = EventCapture(
                nowMs: nowMs, untilMs: nowMs + forMs, keptMs: settings.armedMs, countMax: settings.eventsMax,
                bytesMax: settings.eventsBytesMax)
        } else {
            capture?.extend(untilMs: nowMs + forMs, nowMs: nowMs)
        }
    }

    /// Ends the recording of events; what was recorded stays for a time.
    package mutating func stopEvents(nowMs: Int64) { capture?.stop(nowMs: nowMs) }

    /// The recorded events and runs, without live queries and rules.
    package var recordedEvents: EventRecording {
        var recording = EventRecording()
        recording.redacted = redaction.hiddenNames
        recording.events = capture?.recordedEvents ?? []
        recording.runs = capture?.recordedRuns ?? []
        recording.leftOut = capture?.leftOut ?? 0
        return recording
    }

    /// The time from which the recorded runs are complete; nil if nothing is recorded.
    package var runsSinceMs: Int64? { capture?.runsSinceMs }
    /// The time at which the recording of events ends; nil if none are recorded.
    package var eventsUntilMs: Int64? { capture.flatMap { $0.isOn ? $0.untilMs : nil } }
    package var eventCount: Int { capture?.eventCount ?? 0 }
    package var eventBytes: Int { capture?.bytes ?? 0 }

    // MARK: Flight recorders

    package mutating func armFlight(of uid: String, forMs: Int64, nowMs: Int64) {
        flights.arm(uid, forMs: forMs, nowMs: nowMs)
    }

    package mutating func disarmFlight(of uid: String) { flights.disarm(uid) }
    package var hasFlights: Bool { flights.isOn }
    package func hasFlight(of uid: String) -> Bool { flights.flight(of: uid) != nil }

    package mutating func add(_ entry: FlightEntry, of uid: String) { flights.add(entry, of: uid) }

    /// - Returns: nil if this user has no flight recorder.
    package func flight(
        of uid: String
    ) -> (sinceMs: Int64, untilMs: Int64, dropped: Int, entries: [FlightEntry])? {
        flights.flight(of: uid).map { ($0.sinceMs, $0.untilMs, $0.dropped, $0.all) }
    }
}
