import LiveModel
import Testing

/// Nodes of different versions read each other's entries: the names stay.
@Suite struct StreamFieldTests {
    @Test func namesOfFieldsAreFixed() {
        #expect(StreamField.message == "m" && StreamField.body == "b" && StreamField.entities == "e")
        #expect(StreamField.event == "e" && StreamField.resync == "doubt" && StreamField.node == "node")
    }
}
