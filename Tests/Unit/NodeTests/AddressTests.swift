import Testing

@testable import Node

@Suite struct AddressTests {
    @Test(
        "the admin port's address for other machines",
        arguments: [
            ("127.0.0.1", "10.1.2.3:9399", "127.0.0.1:9398"), ("::1", "10.1.2.3:9399", "[::1]:9398"),
            ("0.0.0.0", "10.1.2.3:9399", "10.1.2.3:9398"), ("::", "[fd00::7]:9399", "[fd00::7]:9398"),
            ("0.0.0.0", "node-1.example", "node-1.example:9398"),
        ])
    func adminAddressIsCompletedFromTheAdvertisedOne(_ host: String, _ advertised: String, _ address: String) {
        #expect(NodeAnnouncement.address(host: host, port: 9398, besides: advertised) == address)
    }
}
