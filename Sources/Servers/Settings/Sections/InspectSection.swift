import Inspection

package struct InspectSection: SettingSection {
    package static let doc = "What nodes record while operators look: why, traces and tails."
    package static let declared = InspectSection()

    package let armedMs = Setting.duration(
        "inspect.armedMs", Parts.recorder.armedMs, in: 1_000...24 * hour,
        "Time for which a look at a live query has its events and runs recorded.")
    package let liveQueriesMax = Setting.int(
        "inspect.liveQueriesMax", Parts.recorder.queriesMax, in: 1...10_000,
        "Live queries that a node records at a time; another one replaces the one looked at longest ago.")
    package let decisionsMax = Setting.int(
        "inspect.decisionsMax", Parts.recorder.decisionsMax, in: 1...1_000,
        "Events, runs and ended subscriptions kept of each of them.")
    package let recordedBytesMax = Setting.bytes(
        "inspect.recordedBytesMax", Parts.recorder.bytesMax, in: 64 * kib...kib * mib,
        "Bytes of all that is recorded of them.")
    package let spansMax = Setting.int(
        "inspect.spansMax", Parts.recorder.spansMax, in: 0...1_000_000, "Steps of traced mutations that a node keeps.")
    package let tracesPerSecond = Setting.int(
        "inspect.tracesPerSecond", Parts.recorder.tracesPerSecond, in: 0...10_000,
        "Mutations per second that clients may have traced by x-freshet-trace or a sampled traceparent.")
    package let tailsMax = Setting.int(
        "inspect.tailsMax", Parts.recorder.tailsMax, in: 0...1_000, "Tails that may be open on a node at a time.")
    package let reportStreamsMax = Setting.int(
        "inspect.reportStreamsMax", 32, in: 0...1_000,
        "Reports that may be followed as event streams on a node at a time.")
    package let eventsMax = Setting.int(
        "inspect.eventsMax", Parts.recorder.eventsMax, in: 1...1_000_000,
        "Events, and runs, that a node keeps for trials of rules; the newest replace the oldest.")
    package let eventsBytesMax = Setting.bytes(
        "inspect.eventsBytesMax", Parts.recorder.eventsBytesMax, in: 64 * kib...kib * mib, "Bytes of both.")
    package let flightsMax = Setting.int(
        "inspect.flightsMax", Parts.recorder.flightsMax, in: 1...10_000,
        "Users that a node has a flight recorder of at a time; another one replaces the one that would end first.")
    package let flightEntriesMax = Setting.int(
        "inspect.flightEntriesMax", Parts.recorder.flightEntriesMax, in: 10...1_000_000, "Entries kept of each of them."
    )
    package let redacted = Setting.list(
        "inspect.redacted", standard: ["password", "secret", "token"],
        "Names of variables, fields and claims whose values are shown nowhere. auth.token never is.")
}
