import Sessions

package struct LagSection: SettingSection {
    package static let doc = "Markers, which measure how old what subscribers see can be."
    package static let declared = LagSection()

    package let markerEveryMs = Setting.duration(
        "lag.markerEveryMs", Parts.interest.markerEveryMs, in: 0...hour,
        "Time between two markers through every shard that somebody follows; 0: none. The same on all nodes.")
    package let lateMs = Setting.duration(
        "lag.lateMs", Parts.interest.markerLateMs, in: 100...24 * hour,
        "Age of a shard's oldest missing marker beyond which the shard needs attention.")
}
