import RoleMachines
import Streams

extension Process {
    /// Appends entries; if the connection ends in between, the first ones remain appended.
    final func append(_ appends: [StreamAppend], then: @escaping (Result<Void, StepFailure>) -> Void) {
        let isCutShort = world.hasFaults && timeline.chance(2)
        call { redis in
            for append in isCutShort ? appends.dropLast() : appends[...] {
                redis.append(append, lengthMax: World.eventsLengthMax)
            }
        } then: { (answer: Void?) in
            then(answer != nil && !isCutShort ? .success(()) : .failure(StepFailure("no answer")))
        }
    }
}
