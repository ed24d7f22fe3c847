import APINode
import Testing

@Suite struct PublishQueueTests {
    @Test func whatFindsNoRoomIsLeftToTheSweepers() {
        var publication = PublishQueue<String>(inFlightMax: 2, deleteBatchMax: 10)
        #expect(publication.committed() == true)
        #expect(publication.committed() == true)
        #expect(publication.committed() == false)
        _ = publication.ended(published: nil)
        #expect(publication.committed() == true)
        #expect(publication.inFlight == 2)
    }

    @Test func onlyWhatIsCertainIsRemoved() {
        var publication = PublishQueue<String>(inFlightMax: 9, deleteBatchMax: 2)
        for _ in 0..<4 { _ = publication.committed() }
        #expect(publication.ended(published: nil) == false, "not certain: the row stays")
        #expect(publication.ended(published: "a") == true)
        #expect(publication.ended(published: "b") == false, "removing is under way")
        #expect(publication.ended(published: "c") == false)
        #expect(publication.nextRemoval() == ["a", "b"])
        #expect(publication.nextRemoval() == ["c"])
        #expect(!publication.isIdle)
        #expect(publication.nextRemoval() == [])
        #expect(publication.isIdle)
        _ = publication.committed()
        #expect(publication.ended(published: "d") == true, "removing begins anew")
    }

    @Test func rowsWaitingToBeRemovedAreBounded() {
        var publication = PublishQueue<String>(inFlightMax: 2, deleteBatchMax: 10)
        for id in ["a", "b", "c"] {
            _ = publication.committed()
            _ = publication.ended(published: id)
        }
        #expect(publication.removalsWaiting == 2)
    }
}
