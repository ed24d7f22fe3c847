import LiveModel
import Settings
import Testing

@testable import Node

@Suite struct ReadinessRuleTests {
    @Test(
        "each role needs its servers",
        arguments: [
            ([.api], [.postgres]), ([.gateway], [.redis]), ([.gateway, .api], [.redis]), ([.admin], []),
            ([.worker], [.postgres, .redis]), ([.api, .worker, .gateway, .admin], [.postgres, .redis]),
        ] as [(Set<Role>, [ReadinessRule.Server])])
    func needs(_ roles: Set<Role>, _ servers: [ReadinessRule.Server]) {
        let dependencies = ReadinessRule(roles: roles, limitMs: 1_000, nowMs: 0)
        #expect(dependencies.needed == servers)
        #expect((dependencies.problem(nowMs: 1_000) == nil) == servers.isEmpty)
    }

    @Test("not ready when a server was away for so long, ready with its next answer")
    func away() {
        var dependencies = ReadinessRule(roles: [.worker], limitMs: 5_000, nowMs: 10_000)
        #expect(dependencies.problem(nowMs: 14_999) == nil)
        #expect(
            dependencies.problem(nowMs: 15_000)
                == "Postgres has not answered for 5 s, Redis has not answered for 5 s")
        dependencies.answered(.postgres, nowMs: 15_500)
        #expect(dependencies.problem(nowMs: 17_000) == "Redis has not answered for 7 s")
        dependencies.answered(.redis, nowMs: 17_000)
        // An answer that was late in coming takes nothing back.
        dependencies.answered(.redis, nowMs: 11_000)
        #expect(dependencies.problem(nowMs: 20_000) == nil)
        #expect(dependencies.problem(nowMs: 20_500) == "Postgres has not answered for 5 s")
    }

    @Test("a server that refuses counts like one that is silent, and its next service counts")
    func refusing() {
        var rule = ReadinessRule(roles: [.gateway], limitMs: 3_000, nowMs: 0)
        rule.failed(.redis, refused: true)
        #expect(rule.problem(nowMs: 2_999) == nil)
        #expect(rule.problem(nowMs: 4_000) == "Redis has refused this node's streams for 4 s")
        rule.failed(.redis, refused: false)
        #expect(rule.problem(nowMs: 5_000) == "Redis has not answered for 5 s")
        rule.failed(.redis, refused: true)
        rule.answered(.redis, nowMs: 6_000)
        #expect(rule.problem(nowMs: 8_000) == nil)
        #expect(rule.problem(nowMs: 9_000) == "Redis has not answered for 3 s")
    }

    @Test("0: ready, whichever worker is away") func aLimitOfZeroIgnoresMissingWorkers() {
        #expect(ReadinessRule(roles: [.worker], limitMs: 0, nowMs: 0).problem(nowMs: .max) == nil)
    }
}
