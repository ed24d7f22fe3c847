/// The source of variable values for an evaluation.
package protocol Activation {
    /// Returns the value of `Environment.variables[index]`; nil if there is none, which makes reading it an error.
    func value(ofVariable index: Int) -> Value?
}

/// An activation that holds its values by index.
package struct SlotActivation: Activation, Sendable {
    package var slots: [Value?]

    package init(_ slots: [Value?]) {
        self.slots = slots
    }

    package func value(ofVariable index: Int) -> Value? {
        index < slots.count ? slots[index] : nil
    }
}
