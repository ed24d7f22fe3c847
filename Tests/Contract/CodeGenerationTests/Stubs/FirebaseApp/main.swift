// An app over the code that `freshet generate` prints for `FirebaseDataConnect`: runs a mutation and a query, follows
// the query, prints what it sees of its own rows, and ends. Argument: the port of a server on this machine.

import FirebaseDataConnect
import Foundation
import GallerySDK

// Lines are seen when they are printed, also through a pipe.
setvbuf(stdout, nil, _IOLBF, 0)

let connector = DataConnect.artGalleryConnector
connector.useEmulator(host: "127.0.0.1", port: Int(CommandLine.arguments[1])!)

func own(_ data: ConditionalQuery.Data?) -> [ConditionalQuery.Data.Artist] {
    (data?.artists ?? []).filter { $0.name.hasPrefix("App") }.sorted { $0.name < $1.name }
}

func show(_ what: String, _ data: ConditionalQuery.Data?) {
    print(what, own(data).map { "\($0.name) \($0.rank.map { "\($0)" } ?? "-")" }.joined(separator: ", "))
}

func create(_ name: String, rank: Int64) async throws -> ArtistKey {
    try await connector.createArtistMutation.execute(name: name, rank: rank) {
        $0.born = LocalDate(year: 1606, month: 7, day: 15)
        $0.site = try? AnyValue(codableValue: ["open": [1.5, 2]])
    }.data!.artist_insert
}

let ann = try await create("App Ann", rank: 9_007_199_254_740_993)
let whole = try await connector.conditionalQuery.execute(full: true, hide: false).data
show("query:", whole)
let row = own(whole)[0]
print("key:", row.artistKey == ann)
print("optional:", row.born == LocalDate(year: 1606, month: 7, day: 15) && row.site != nil)
let short = own(try await connector.conditionalQuery.ref(full: false, hide: true).execute().data)[0]
print("absent:", short.rank == nil && short.born == nil)

let (results, continuation) = AsyncStream.makeStream(of: ConditionalQuery.Data?.self)
let ref = connector.conditionalQuery.ref(full: true, hide: false)
let subscription = try await ref.subscribe().sink { continuation.yield(try? $0.get().data) }
for await data in results {
    show("subscription:", data)
    if own(data).count != 1 { break }
    _ = try await create("App Ben", rank: 2)
}
subscription.cancel()
do {
    _ = try await connector.touchMutation.execute()
} catch {
    print("refused:", error is AnyDataConnectError)
}
