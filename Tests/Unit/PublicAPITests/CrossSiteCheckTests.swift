import HTTPServer
import LiveModel
import NIOHTTP1
import PublicAPI
import Testing

@Suite struct CrossSiteCheckTests {
    private func code(
        _ method: HTTPMethod = .GET, host: String? = "127.0.0.1:9398", origin: String? = nil, type: String? = nil,
        site: String? = nil, _ hosts: CrossSiteCheck.Hosts = .loopback
    ) -> ErrorCode? {
        var headers: HTTPHeaders = [:]
        if let host { headers.add(name: "host", value: host) }
        if let origin { headers.add(name: "origin", value: origin) }
        if let type { headers.add(name: "content-type", value: type) }
        if let site { headers.add(name: "sec-fetch-site", value: site) }
        let request = HTTPRequest(method: method, path: "/admin/status", headers: headers)
        return CrossSiteCheck.refusal(of: request, hosts: hosts)?.code
    }

    @Test(arguments: [
        "localhost", "localhost:9398", "LOCALHOST", "app.localhost:1", "127.0.0.1", "127.1.2.3:80", "[::1]",
        "[::1]:9398",
    ])
    func loopbackHostsAreAllowed(_ host: String) {
        #expect(code(host: host) == nil)
        #expect(code(host: host, .local) == nil)
        #expect(code(origin: "http://\(host)") == nil)
    }

    @Test(arguments: [
        "attacker.example", "attacker.example:9398", "127.0.0.1.attacker.example", "localhost.attacker.example",
        "127.attacker.example", "127.0.0.256", "[::1].attacker.example", "notlocalhost.example",
    ])
    func publicNamesAreRefused(_ host: String) {
        #expect(code(host: host) == .permissionDenied)
        #expect(code(host: host, .local) == .permissionDenied)
        #expect(code(origin: "http://\(host)") == .permissionDenied)
    }

    @Test(arguments: ["10.0.2.2:9399", "[fd00::1]", "freshet:9399", "host.docker.internal", "box.local"])
    func privateNamesAreAllowedWhereContainersCall(_ host: String) {
        #expect(code(host: host) == .permissionDenied)
        #expect(code(host: host, .local) == nil)
        #expect(code(origin: "http://\(host)", .local) == .permissionDenied, "a page of another machine")
    }

    @Test func requestsWithoutHostAreNoBrowsers() { #expect(code(host: nil) == nil) }

    @Test(arguments: ["null", "https://attacker.example", "file://", "", "localhost"])
    func foreignOriginsAreRefused(_ origin: String) { #expect(code(origin: origin) == .permissionDenied) }

    /// An image, a link or a `no-cors` read of a page has no `Origin`.
    @Test(arguments: [HTTPMethod.GET, .HEAD, .POST])
    func requestsOfOtherSitesAreRefused(_ method: HTTPMethod) {
        for hosts in [CrossSiteCheck.Hosts.loopback, .local] {
            #expect(code(method, type: "application/json", site: "cross-site", hosts) == .permissionDenied)
            #expect(code(method, type: "application/json", site: "Cross-Site", hosts) == .permissionDenied)
        }
    }

    /// `none` is an address that the user typed.
    @Test(arguments: [nil, "same-origin", "same-site", "none"])
    func requestsOfTheSameSiteAreAllowed(_ site: String?) { #expect(code(site: site) == nil) }

    /// A page of `localhost` is of another site than 127.0.0.1.
    @Test func theOriginDecidesBeforeTheSite() {
        #expect(code(origin: "http://localhost:3000", site: "cross-site") == nil)
        #expect(code(origin: "https://attacker.example", site: "same-origin") == .permissionDenied)
    }

    @Test(arguments: ["application/json", "Application/JSON; charset=utf-8", "application/graphql+json"])
    func postsOfJSONAreAllowed(_ type: String) { #expect(code(.POST, type: type) == nil) }

    /// The media types that pages send without a preflight, and none.
    @Test(arguments: [
        nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
        "text/plain; application/json",
    ])
    func otherPostsAreRefused(_ type: String?) { #expect(code(.POST, type: type) == .unsupportedMediaType) }
}
