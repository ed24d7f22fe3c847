import Testing

@testable import Sessions

/// The subjects of limits per address.
@Suite struct ClientAddressesTests {
    private func addresses(_ bits: Int = 64) -> ClientAddresses {
        var addresses = ClientAddresses()
        addresses.proxies = AddressSet(["10.0.0.0/8", "fd00::/8"])!
        addresses.ipv6PrefixBits = bits
        return addresses
    }

    @Test func addressesOfAnIPv6NetworkAreOneSubject() {
        let subjects = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::", "2001:0DB8:1:2:3:4:5:6"].map {
            addresses().subject(of: $0)
        }
        #expect(Set(subjects) == ["2001:db8:1:2::/64"])
        #expect(addresses().subject(of: "2001:db8:1:3::1") == "2001:db8:1:3::/64")
    }

    @Test(arguments: [
        (1, "8000::/1"), (8, "ab00::/8"), (20, "abcd:1000::/20"), (48, "abcd:1234:5::/48"),
        (56, "abcd:1234:5:600::/56"), (120, "abcd:1234:5:678:9:a:b:cd00/120"), (128, "abcd:1234:5:678:9:a:b:cdef"),
    ])
    func prefixOfAnyLength(bits: Int, subject: String) {
        #expect(addresses(bits).subject(of: "abcd:1234:5:678:9:a:b:cdef") == subject)
    }

    @Test func mappedAddressCountsAsIPv4() {
        #expect(addresses().subject(of: "::ffff:192.0.2.7") == "192.0.2.7")
        #expect(addresses().subject(of: "::ffff:c000:207") == "192.0.2.7")
        #expect(addresses().subject(of: "192.0.2.7") == "192.0.2.7")
    }

    @Test func addressWithoutLimitsAndTextThatIsNoAddressStay() {
        for text in ["::1", "::ffff:127.0.0.1", "127.0.0.1", "unix:", "nonsense", ""] {
            #expect(addresses().subject(of: text) == text)
        }
        var limits = QuotaLimits()
        limits.uncounted = AddressSet(["2001:db8::5", "::1"])!
        var few = addresses()
        few.uncounted = limits.uncounted
        #expect(few.subject(of: "2001:db8::5") == "2001:db8::5")
        #expect(few.subject(of: "2001:db8::6") == "2001:db8:0:0::/64")
        // A subject is recognised as one that has no limits only if its address is.
        #expect(limits.uncounted.contains(few.subject(of: "2001:db8::5")))
        #expect(!limits.uncounted.contains(few.subject(of: "2001:db8::6")))
        #expect(!limits.uncounted.contains(few.subject(of: "::2")))
    }

    @Test func connectionsOfProxiesDoNotCountAndTheirClientsDo() {
        let all = addresses()
        #expect(all.countedPeer("10.1.2.3") == nil && all.countedPeer("127.0.0.1") == nil)
        #expect(all.countedPeer("2001:db8::5") == "2001:db8:0:0::/64")
        #expect(all.countedClient(peer: "10.1.2.3", forwarded: "2001:db8::5") == "2001:db8:0:0::/64")
        #expect(all.client(peer: "fd12::1", forwarded: "2001:db8::5") == "2001:db8:0:0::/64")
        #expect(all.countedClient(peer: "10.1.2.3", forwarded: "127.0.0.1") == nil)
        #expect(all.countedClient(peer: "10.1.2.3", forwarded: nil) == "10.1.2.3")
        #expect(all.countedClient(peer: "203.0.113.5", forwarded: "198.51.100.1") == "203.0.113.5")
    }
}
