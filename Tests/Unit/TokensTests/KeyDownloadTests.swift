import Testing

@testable import Tokens

@Suite("Downloads of key sets") struct KeyDownloadTests {
    private func download(_ answer: @escaping @Sendable (String) -> [UInt8]?) async throws -> Result<
        [UInt8], FetchError
    > {
        let server = try await OneHostServer.start { path, _ in answer(path) }
        let result: Result<[UInt8], FetchError>
        do throws(FetchError) {
            result = .success(try await testDownloads.get(server.origin + "/keys?x=1#f"))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        return result
    }

    @Test func aKeySetArrivesWhole() async throws {
        let body = Array(repeating: UInt8(ascii: "a"), count: KeySource.bytesMax)
        #expect(try await download { $0 == "/keys?x=1" ? body : nil } == .success(body))
    }

    @Test func anotherStatusIsAnError() async throws {
        let error = FetchError(code: .badStatus, detail: "404")
        #expect(try await download { _ in nil } == .failure(error))
        #expect(error.description == "the response status is not 200 (404)")
    }

    @Test func aLargeAnswerIsAnError() async throws {
        let body = Array(repeating: UInt8(ascii: "a"), count: KeySource.bytesMax + 1)
        #expect(try await download { _ in body } == .failure(FetchError(code: .tooLarge)))
    }

    @Test func aServerThatIsNotThereIsAnError() async throws {
        do throws(FetchError) {
            _ = try await testDownloads.get("http://127.0.0.1:1/keys")
            Issue.record("answered")
        } catch {
            #expect(error.code == .connectionFailed)
        }
    }

    @Test func anAddressOfNoServerIsRefused() async throws {
        await #expect(throws: FetchError(code: .badAddress)) { try await testDownloads.get("ftp://a/keys") }
    }
}
