extension World {
    package struct Outcome: Sendable {
        /// The first violation; nil if there was none.
        package let violation: String?
        package let steps: UInt64
        package let commits: Int
        package let answers: Int
        /// The number of errors to clients whose live query no owner had answered in time.
        package let silences: Int
        /// The number of markers that gateways let count.
        package var markers = 0
        /// The number of waits that were answered.
        package var waits = 0
        /// The number of faults by kind.
        package var faults: [String: Int] = [:]
    }
}
