package import JSON

/// Identifies the process of a node to other processes of the same machine, so that they can tell whether it still
/// runs.
package struct ProcessIdentity: Sendable, Hashable {
    /// Names the running system and the namespace in which process ids count. Ids of different machines are not
    /// comparable.
    package var machine: String
    package var processID: Int32
    /// When the process started, in clock ticks since the system's start: process ids are reused.
    package var startTicks: UInt64

    package init(machine: String, processID: Int32, startTicks: UInt64) {
        self.machine = machine
        self.processID = processID
        self.startTicks = startTicks
    }

    package var json: JSONValue {
        [.string(machine), .int(Int64(processID)), .int(Int64(clamping: startTicks))]
    }

    /// Returns nil for another form, which comes from another version.
    package init?(json: JSONValue) {
        guard let parts = json.arrayValue, parts.count == 3, let machine = parts[0].stringValue, !machine.isEmpty,
            let processID = parts[1].intValue.flatMap(Int32.init(exactly:)), processID > 0,
            let startTicks = parts[2].intValue.flatMap(UInt64.init(exactly:))
        else { return nil }
        self.init(machine: machine, processID: processID, startTicks: startTicks)
    }
}
