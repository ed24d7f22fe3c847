import ArgumentParser
import Foundation
import JSON
import NIOHTTP1
import ProtocolClients

/// The options for the server and the client's credentials.
struct ClientOptions: ParsableArguments {
    @Option(help: "The server.")
    var url = ProcessInfo.processInfo.environment["FRESHET_URL"] ?? "http://127.0.0.1:9399"

    @Option(help: "Connector; required if the service has several.")
    var connector: String?

    @Option(name: .customLong("vars"), help: ArgumentHelp("Variables, a JSON object.", valueName: "json"))
    var variables = "{}"

    @Option(help: "Bearer token. Also read from FRESHET_TOKEN.")
    var token: String?

    @OptionGroup var tls: TLSOptions

    func address() -> ServerAddress {
        do throws(ClientError) {
            return try ServerAddress(url, trust: tls.trust)
        } catch {
            Terminal.fail(error.description)
        }
    }

    func object() -> JSONObject {
        do throws(JSONError) {
            if case .object(let object) = try JSONParser.parse(Array(variables.utf8)) { return object }
        } catch {
            Terminal.fail("--vars is not JSON: \(error)")
        }
        Terminal.fail("--vars must be a JSON object")
    }

    var bearer: String? { token ?? ProcessInfo.processInfo.environment["FRESHET_TOKEN"] }
}

/// The options for verifying servers of https:// and wss:// URLs.
struct TLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "PEM file of the authorities to trust for https://, instead of the system's. Also FRESHET_CACERT.",
            valueName: "file"))
    var cacert: String?

    @Flag(help: "Accept any server certificate for https://; for tests only.")
    var insecure = false

    func validate() throws {
        if insecure, cacert != nil { throw ValidationError("--insecure and --cacert contradict each other") }
    }

    var trust: ClientTLS.Trust {
        if insecure { return .any }
        let file = cacert ?? ProcessInfo.processInfo.environment["FRESHET_CACERT"]
        return file.map { .authorities(file: $0) } ?? .system
    }
}

struct Execute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs a stored query or mutation once and prints the answer.",
        discussion: "Exit code 1 if the answer contains errors.")

    @Argument(help: "Name of the operation.")
    var operation: String

    @Option(
        help: ArgumentHelp(
            "Idempotency key: a mutation that is sent again with its key is applied once and answered like the first.",
            valueName: "key"))
    var idempotencyKey: String?

    @OptionGroup var options: ClientOptions

    func run() async throws {
        var request: JSONObject = [
            "operationName": .string(operation), "variables": .object(options.object()),
        ]
        if let connector = options.connector { request["extensions"] = ["connector": .string(connector)] }
        var headers: [(String, String)] = [("content-type", "application/json")]
        if let token = options.bearer { headers.append(("authorization", "Bearer \(token)")) }
        if let idempotencyKey { headers.append(("idempotency-key", idempotencyKey)) }
        let response: HTTPCall.Response
        do {
            response = try await HTTPCall.send(
                .POST, options.address(), path: "/graphql", headers: .init(headers),
                body: JSONWriter.compact(.object(request)))
        } catch {
            Terminal.fail("\(error)")
        }
        Terminal.out(String(decoding: response.body, as: UTF8.self))
        let answer = try? JSONParser.parse(response.body)
        if response.status >= 400 || answer?["errors"] != nil { throw ExitCode(1) }
    }
}
