/// The settings of the HAProxy that stands before a cluster, as text. `deploy/haproxy/haproxy.cfg` is made of it, and so
/// is what `freshet cluster` runs, so that both route alike.
///
/// What waits for changes (WebSockets, event streams, long-polls) goes to gateways, and so does gRPC, by HTTP/2; everything
/// else to API nodes. Requests about a single connection of graphql-sse go where it was reserved.
package struct HAProxyConfiguration: Sendable {
    /// Where a group of nodes is found.
    package enum Servers: Sendable {
        /// By name and `host:port`.
        case listed([(name: String, address: String)])
        /// All addresses of one name, asked for again and again: `slots` at most.
        case resolved(host: String, port: Int, slots: Int)
    }

    package var bind: String
    package var statsBind: String
    package var api: Servers
    package var gateways: Servers
    /// Between two health checks. Two failed ones make a node unready, so `drain.delayMs` must be above the double.
    package var checkMs: Int
    /// A file that is answered at `/`.
    package var pagePath: String?
    /// Of clients at once; further ones wait.
    package var connectionsMax: Int

    package static let connectionsMaxDefault = 50_000

    /// The most connections that HAProxy takes with so many open files; it does not start for more.
    package static func connectionsMax(openFiles: Int) -> Int { max(0, (openFiles - openFilesReserve) / 2) }

    /// What it opens besides two for each connection, to the client and to a node: listeners, health checks of the nodes,
    /// its threads.
    private static let openFilesReserve = 200

    package init(
        bind: String, statsBind: String, api: Servers, gateways: Servers, checkMs: Int = 1_000,
        pagePath: String? = nil, connectionsMax: Int = Self.connectionsMaxDefault
    ) {
        self.bind = bind
        self.statsBind = statsBind
        self.api = api
        self.gateways = gateways
        self.checkMs = checkMs
        self.pagePath = pagePath
        self.connectionsMax = connectionsMax
    }

    /// For `deploy/compose`: nodes are found by the name of their service, as many as are scaled to.
    package static let compose = HAProxyConfiguration(
        bind: ":9399", statsBind: ":8404", api: .resolved(host: "api", port: 9399, slots: 10),
        gateways: .resolved(host: "gateway", port: 9399, slots: 10))

    /// For `deploy/kubernetes`: nodes are found by headless services. HAProxy does not try search domains.
    package static let kubernetes = HAProxyConfiguration(
        bind: ":9399", statsBind: ":8404",
        api: .resolved(host: "freshet-api.freshet.svc.cluster.local", port: 9399, slots: 10),
        gateways: .resolved(host: "freshet-gateway.freshet.svc.cluster.local", port: 9399, slots: 20))

    package var text: String {
        [global, defaults, resolvers, frontend, backend("api", api), backend("gateway", gateways), grpcBackend, stats]
            .compactMap { $0 }.joined(separator: "\n")
    }

    private var global: String {
        """
        # HAProxy in front of a Freshet cluster. Made by Sources/Tools/LocalServers/HAProxy (UPDATE_REFERENCE=1 with the
        # LocalServersTests); `freshet cluster` runs the same rules.
        global
            log stdout format raw local0 notice
            maxconn \(connectionsMax)
            # After SIGUSR1 old connections may go on for so long.
            hard-stop-after 60s

        """
    }

    private var defaults: String {
        """
        defaults
            mode http
            log global
            option httplog
            option dontlognull
            option dontlog-normal
            option forwardfor
            # A node that is gone refuses connections. Then nothing was sent yet and another node can have the request, even
            # a mutation.
            option redispatch 1
            retries 3
            retry-on conn-failure
            timeout connect 2s
            timeout queue 5s
            timeout http-request 10s
            # Below http.idleTimeoutMs (75 s), so that it is never the node that closes first.
            timeout http-keep-alive 60s
            # A long-poll is silent for up to gateway.longPollMaxMs (60 s); event streams have a comment every 15 s.
            # Calls of gRPC are silent for as long as nothing changes: a node ends what it does not hear from.
            timeout client 1h
            option clitcpka
            timeout server 75s
            # WebSockets have a ping every gateway.pingIntervalMs (25 s).
            timeout tunnel 90s
            timeout client-fin 10s
            # A node that leaves says so at once; one that is only slow must not be taken for dead, or overload ends all.
            timeout check 3s

        """
    }

    private var resolvers: String? {
        guard case .resolved = api else { return nil }
        return """
            resolvers names
                parse-resolv-conf
                resolve_retries 3
                timeout resolve 1s
                timeout retry 1s
                hold valid 2s
                # All addresses of a service in one answer.
                accepted_payload_size 8192

            """
    }

    private var frontend: String {
        let page =
            pagePath.map {
                """

                    http-request return status 200 content-type "text/html; charset=utf-8" file "\($0)" if { path / }
                """
            } ?? ""
        return """
            frontend public
                bind \(bind)
                # With a certificate: bind :443 ssl crt /etc/haproxy/certs/ alpn h2,http/1.1
                # For what stands before this proxy: fails when nobody is there to answer.
                monitor-uri /proxy-healthz
                monitor fail if { nbsrv(api) eq 0 } || { nbsrv(gateway) eq 0 }
                # Nodes believe X-Forwarded-For from here (http.trustedProxies), so it holds the client's address alone, which
                # "option forwardfor" adds, and nothing that a client made up. Behind another proxy take this line out.
                http-request del-header x-forwarded-for
                http-request set-header x-forwarded-proto https if { ssl_fc }\(page)
                acl is_live hdr(upgrade) -i websocket
                acl is_live hdr_sub(accept) -i text/event-stream
                acl is_live hdr_sub(accept) -i multipart/mixed
                acl is_live hdr_sub(prefer) -i wait=
                # graphql-sse with one connection for all operations, from its reservation on.
                acl is_live method PUT
                acl is_live req.hdr(x-graphql-event-stream-token) -m found
                acl is_live url_param(token) -m found
                # Cleartext HTTP/2 is told by its first bytes.
                acl is_grpc req.hdr(content-type) -m beg application/grpc
                use_backend gateway_grpc if is_grpc
                use_backend gateway if is_live
                default_backend api

            """
    }

    private func lines(_ name: String, _ servers: Servers) -> [String] {
        switch servers {
        case .listed(let list): list.map { "server \($0.name) \($0.address)" }
        case .resolved(let host, let port, let slots):
            ["server-template \(name)- \(slots) \(host):\(port) resolvers names init-addr none"]
        }
    }

    /// The same gateways by cleartext HTTP/2.
    private var grpcBackend: String {
        """
        backend gateway_grpc
            balance leastconn
            option httpchk
            http-check send meth GET uri /readyz ver HTTP/1.1 hdr host freshet
            http-check expect status 200
            timeout server 1h
            # "check-proto" counts on the lines of servers only.
            default-server inter \(checkMs)ms fastinter \(max(100, checkMs / 2))ms fall 2 rise 1 slowstart 10s
            \(lines("gateway", gateways).map { $0 + " proto h2 check check-proto h1" }.joined(separator: "\n    "))

        """
    }

    private func backend(_ name: String, _ servers: Servers) -> String {
        let isGateway = name == "gateway"
        let live =
            isGateway
            ? """

                # Not "on-marked-down shutdown-sessions": a gateway that drains is down for new sessions, and tells those it
                # has, one after the other, to come back elsewhere. One that comes back gets its share slowly.
                stick-table type string len 64 size 100k expire 1h
                stick match req.hdr(x-graphql-event-stream-token)
                stick match url_param(token)
                stick store-response res.hdr(x-graphql-event-stream-token)
            """ : ""
        let slow = isGateway ? " slowstart 10s" : ""
        let lines = lines(name, servers)
        return """
            backend \(name)
                balance leastconn
                option httpchk
                http-check send meth GET uri /readyz ver HTTP/1.1 hdr host freshet
                http-check expect status 200\(live)
                default-server check inter \(checkMs)ms fastinter \(max(100, checkMs / 2))ms fall 2 rise 1\(slow)
                \(lines.joined(separator: "\n    "))

            """
    }

    private var stats: String {
        """
        frontend statistics
            bind \(statsBind)
            http-request use-service prometheus-exporter if { path /metrics }
            stats enable
            stats uri /
            stats refresh 5s

        """
    }
}
