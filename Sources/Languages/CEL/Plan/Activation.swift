/// Where an evaluation finds the values of variables.
package protocol Activation {
    /// The value of `Environment.variables[index]`; nil when there is none, which makes reading it an error.
    func value(ofVariable index: Int) -> Value?
}

/// Values by position.
package struct SlotActivation: Activation, Sendable {
    package var slots: [Value?]

    package init(_ slots: [Value?]) {
        self.slots = slots
    }

    package func value(ofVariable index: Int) -> Value? {
        index < slots.count ? slots[index] : nil
    }
}
