/// Returns the part of a key that determines its slot: the content of the first non-empty `{}`, or the whole key
/// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
package func hashTag(of key: String) -> Substring.UTF8View {
    let bytes = key.utf8
    if let open = bytes.firstIndex(of: UInt8(ascii: "{")) {
        let start = bytes.index(after: open)
        if let close = bytes[start...].firstIndex(of: UInt8(ascii: "}")), close > start {
            return Substring(key).utf8[start..<close]
        }
    }
    return Substring(key).utf8
}

/// Throws `.rejected` unless all keys are in one slot, as a script's keys must be.
package func requireOneSlot(_ first: String, _ others: some Sequence<String>) throws(BrokerError) {
    let tag = hashTag(of: first)
    for key in others where !hashTag(of: key).elementsEqual(tag) {
        throw BrokerError(.rejected, "keys of one script must share their hash tag")
    }
}
