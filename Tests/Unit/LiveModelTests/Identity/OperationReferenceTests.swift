import LiveModel
import Testing

@Suite struct OperationReferenceTests {
    @Test(arguments: ["auctions/GetLot", "a/b/c"])
    func readsWhatItWrites(_ text: String) throws {
        #expect(try #require(OperationReference(text)).description == text)
    }

    @Test(arguments: ["", "/", "GetLot", "/GetLot", "auctions/"])
    func refusesOtherForms(_ text: String) {
        #expect(OperationReference(text) == nil)
    }
}
