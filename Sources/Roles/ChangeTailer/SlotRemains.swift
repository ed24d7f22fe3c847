/// Everything that the database has for the reader of its log, and what of it is dropped with the slot. Pure.
package struct SlotRemains: Sendable, Hashable {
    package struct Slot: Sendable, Hashable {
        /// Whether it belongs to another database or plugin.
        package var isForeign: Bool

        package init(isForeign: Bool) { self.isForeign = isForeign }
    }

    package struct Publication: Sendable, Hashable {
        package var name: String
        package var owner: String
        /// Whether the service's role may drop it.
        package var isOwn: Bool

        package init(name: String, owner: String, isOwn: Bool) {
            self.name = name
            self.owner = owner
            self.isOwn = isOwn
        }
    }

    /// The steps to take, in this order. What does not exist any more is no error.
    package struct Removal: Sendable, Hashable {
        package let dropsSlot: Bool
        package let publications: [String]
        /// A sentence that says what was done.
        package let sentence: String
    }

    package let name: String
    package var slot: Slot?
    package var hasRecord: Bool
    package var publications: [Publication]
    /// Other clusters' slots in this database, and those of former names: they read the same publications.
    package var otherSlots: [String]

    package init(name: String, slot: Slot?, hasRecord: Bool, publications: [Publication], otherSlots: [String]) {
        self.name = name
        self.slot = slot
        self.hasRecord = hasRecord
        self.publications = publications
        self.otherSlots = otherSlots
    }

    /// Decides what is dropped.
    /// - Throws: `missing` if there is nothing, `refused` if the service's role may not drop all of it.
    package func removal() throws(SlotFailure) -> Removal {
        if slot?.isForeign == true {
            throw SlotFailure(
                .refused, "the replication slot \(name) belongs to another database or plugin: set tailer.slot")
        }
        let dropped = otherSlots.isEmpty ? publications : []
        let foreign = dropped.filter { !$0.isOwn }
        if !foreign.isEmpty {
            let owners = Set(foreign.map(\.owner)).sorted()
            throw SlotFailure(
                .refused,
                "the service's database role does not own \(Self.publications(foreign.map(\.name))): "
                    + "drop what \(owners.joined(separator: " and ")) owns by hand (DROP PUBLICATION), then try again")
        }
        var parts: [String] = []
        if slot != nil { parts.append("the replication slot \(name)") }
        if !dropped.isEmpty { parts.append(Self.publications(dropped.map(\.name))) }
        if parts.isEmpty, !hasRecord { throw SlotFailure(.missing, "there is no replication slot \(name)") }
        if hasRecord { parts.append("its record") }
        var sentence = slot == nil ? "there was no replication slot \(name); dropped " : "dropped "
        sentence += parts.joined(separator: ", ")
        if !otherSlots.isEmpty, !publications.isEmpty {
            sentence += "; \(Self.publications(publications.map(\.name))) stay for other replication slots: "
            sentence += otherSlots.joined(separator: ", ")
        }
        return Removal(dropsSlot: slot != nil, publications: dropped.map(\.name), sentence: sentence)
    }

    private static func publications(_ names: [String]) -> String {
        (names.count == 1 ? "the publication " : "the publications ") + names.joined(separator: " and ")
    }
}
