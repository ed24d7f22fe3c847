import LiveModel
import Sessions
import Testing

/// `ConnectorStreamMachine` over gRPC, where it differs: a token that is refused or expires ends the stream.
@Suite struct StreamProtobufTests {
    private static let name = "projects/p/locations/l/services/s/connectors/c"

    private func machine(bearer: String? = nil) -> ConnectorStreamMachine<StreamProtobuf> {
        ConnectorStreamMachine(
            SessionOpening(credentials: Credentials(bearer: bearer), operationsMax: 10),
            service: ServiceIdentity(service: "s", location: "l", connectors: ["c"]))
    }

    /// A field of bytes, shorter than 128.
    private func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { [number << 3 | 2, UInt8(bytes.count)] + bytes }

    /// A `StreamRequest` that subscribes to the operation `A`.
    private func subscribe(_ id: String) -> [UInt8] {
        field(1, Array(Self.name.utf8)) + field(2, Array(id.utf8)) + field(3, field(2, Array("A".utf8)))
    }

    @Test func aRefusedTokenEndsTheStream() {
        var machine = machine(bearer: "forged")
        #expect(actionTexts(machine.opened()) == ["authenticate forged"])
        #expect(machine.received(binary: subscribe("1")).isEmpty)
        #expect(actionTexts(machine.rejected(RequestError(.unauthenticated, "forged"))) == ["end UNAUTHENTICATED"])
        #expect(machine.operationCount == 0)
        #expect(machine.received(binary: subscribe("2")).isEmpty && machine.authenticated().isEmpty)
    }

    @Test func anExpiredTokenEndsTheStream() {
        var machine = machine()
        #expect(actionTexts(machine.received(binary: subscribe("1"))) == ["start 1 A follow"])
        #expect(machine.isActive("1"))
        #expect(actionTexts(machine.expired(ids: ["1"], .tokenExpired)) == ["end UNAUTHENTICATED"])
        #expect(machine.operationCount == 0 && !machine.isActive("1"))
        #expect(machine.expired(ids: ["1"], .tokenExpired).isEmpty && machine.received(binary: subscribe("2")).isEmpty)
    }
}
