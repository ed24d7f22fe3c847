import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite struct ContentCodingTests {
    @Test(arguments: [
        "gzip", "GZIP", "x-gzip", "gzip, deflate, br", "deflate, gzip;q=1.0, *;q=0.5", "gzip;q=0.001", "*", "*;q=0.5",
        "br;q=1.0, gzip;q=0.8", " gzip ; q=1 ", "gzip;Q=0.5", "identity;q=0.5, gzip", "identity;q=0, gzip;q=0.1",
        "identity, gzip", "junk;q=x, gzip",
    ])
    func gzipIsPreferred(_ header: String) {
        #expect(ContentCoding.prefersGzip(header))
    }

    @Test(arguments: [
        "", "identity", "br", "gzip;q=0", "gzip;q=0.000", "gzip;q=0, *", "*;q=0", "gzip;q=0.5, identity",
        "gzip;q=2", "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=", "gzip;q", "gzip;x=1", "gzipped", "gzip;q=.5",
        "gzip;q=1.x", "gzip;q=-1",
    ])
    func thePlainBodyIsPreferred(_ header: String) {
        #expect(!ContentCoding.prefersGzip(header))
    }

    @Test(arguments: [
        ([], "Accept-Encoding"), (["Origin"], "Origin, Accept-Encoding"), (["*"], "*"),
        (["accept-encoding"], "accept-encoding"), (["Origin, Cookie"], "Origin, Cookie, Accept-Encoding"),
    ])
    func varyKeepsItsNames(_ before: [String], _ after: String) {
        var headers = HTTPHeaders(before.map { ("vary", $0) })
        headers.addVary("Accept-Encoding")
        #expect(headers[canonicalForm: "vary"].joined(separator: ", ") == after)
    }
}

@Suite struct MessageDeflateTests {
    private static let agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

    @Test(arguments: [
        // Browsers, Python's websockets, every parameter, quoted values.
        ("permessage-deflate; client_max_window_bits", DeflateWindow.large, ""),
        (
            "permessage-deflate; server_max_window_bits=12; client_max_window_bits=12", .small,
            "; server_max_window_bits=12"
        ),
        ("permessage-deflate", .large, ""),
        ("permessage-deflate;server_no_context_takeover;client_no_context_takeover", .large, ""),
        ("permessage-deflate; server_max_window_bits=15", .large, "; server_max_window_bits=15"),
        ("permessage-deflate; server_max_window_bits=\"14\"", .small, "; server_max_window_bits=12"),
        ("permessage-deflate ; client_max_window_bits = 8", .large, ""),
        // The first acceptable offer counts.
        ("x-other, permessage-deflate; server_max_window_bits=9, permessage-deflate", .large, ""),
        ("permessage-deflate; unknown, permessage-deflate", .large, ""), (",, permessage-deflate ,", .large, ""),
        ("x-other; a=\"b\", permessage-deflate", .large, ""),
    ])
    func anOfferIsAccepted(_ header: String, _ window: DeflateWindow, _ parameters: String) throws {
        let deflate = try #require(MessageDeflate(offers: header))
        #expect(deflate.window == window && deflate.response == Self.agreed + parameters)
    }

    @Test(arguments: [
        "", "x-webkit-deflate-frame", "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=11", "permessage-deflate; server_max_window_bits=012",
        "permessage-deflate; client_max_window_bits=16", "permessage-deflate; client_max_window_bits=x",
        "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=\"\"",
        "permessage-deflate; unknown", "permessage-deflate; unknown=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; client_max_window_bits; client_max_window_bits=10", "permessage-deflate; =1",
        "permessage-deflate;", "permessage-deflate; a=", "permessage-deflate; server_max_window_bits=\"12",
        "permessage-deflate; server_max_window_bits=\"1 2\"", "permessage-deflate x", "permessage-deflate, ;",
        "permessage-deflate; server_max_window_bits=12=13",
    ])
    func anyOtherOfferIsDeclined(_ header: String) {
        #expect(MessageDeflate(offers: header) == nil)
    }
}
