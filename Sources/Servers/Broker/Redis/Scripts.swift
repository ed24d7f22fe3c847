import LiveModel
import Streams

/// Every Lua script. Each uses keys of one hash tag only and takes the time from the server, so that expiry does not
/// depend on the caller's clock.
///
/// A lease is a hash that never expires, because the epoch must outlive every owner. Its fields:
/// - `owner`, `epoch`, `until` (server time in milliseconds), `ttl` (of the last grant or renewal);
/// - `server`, which granted it last; `trusted`, the first epoch that this server granted; `since`, when (`server ms`);
/// - `basis`, what the last owner's results depended on; `based`, the first epoch granted on that basis.
///
/// A node is a field of one hash: `until:payload`.
///
/// Stored numbers are read by `number`, so that a value that no node would write counts as absent and does not
/// fail the script.
enum Scripts {
    /// Defines `now` in milliseconds, and `number(text)`: nil unless it is an integer from 0 to 2^53 - 1.
    private static let now = """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local function number(text)
          local value = text and string.match(text, '^%d+$') and tonumber(text)
          if value and value >= 0 and value <= 9007199254740991 then return value end
        end

        """

    /// Defines `server`: this process in its current role; empty if it does not identify itself.
    private static let server = """
        local info, server = redis.pcall('INFO', 'server', 'replication'), ''
        if type(info) == 'string' then
          server = (string.match(info, 'run_id:(%w+)') or '') .. '.'
            .. (string.match(info, 'master_replid:(%w+)') or '')
        end

        """

    /// Defines `holds(epoch)`: whether the epoch holds the lease `KEYS[1]`. False if another server granted it, because
    /// that server may since have granted it to an owner that this one does not know.
    private static let fence =
        now + server + """
            local function holds(epoch)
              local lease = redis.call('HMGET', KEYS[1], 'epoch', 'until', 'server')
              return lease[1] == epoch and (number(lease[2]) or 0) > now and lease[3] == server
            end

            """

    /// Arguments: owner, ttlMs, basis, epoch.
    ///
    /// - Granted: returns this server's first epoch, this basis' first epoch, the milliseconds for which this server
    ///   has known the lease, the server, and 1 if the stored lease was not written by a node and is ignored.
    /// - Held by another owner: returns the remaining milliseconds, and 1 if the stored lease was not written by a node
    ///   and is held for a shorter time than it says.
    /// - Epoch too low: returns the newest one.
    ///
    /// A server that does not identify itself trusts nothing from before the grant.
    static let acquireLease = Script(
        now + server + """
            local lease = redis.call('HMGET', KEYS[1],
              'owner', 'epoch', 'until', 'server', 'trusted', 'basis', 'based', 'since', 'ttl')
            local stored, untilMs, repaired = number(lease[2]), number(lease[3]), 0
            -- No epoch comes after the largest, so no owner has it.
            if stored and stored >= 9007199254740991 then stored = nil end
            if lease[2] and not stored or lease[3] and not untilMs then repaired = 1 end
            local isHeld = lease[1] and lease[1] ~= '' and stored and untilMs and untilMs > now
            if isHeld and lease[1] ~= ARGV[1] then
              local left, ttl, clamped = untilMs - now, number(lease[9]) or 0, 0
              if lease[9] and (not number(lease[9]) or ttl > \(StoredNumber.leaseMaxMs)) then clamped = 1 end
              ttl = math.min(ttl, \(StoredNumber.leaseMaxMs))
              if ttl == 0 then ttl = tonumber(ARGV[2]) end
              -- Reported once.
              if clamped == 1 then redis.call('HSET', KEYS[1], 'ttl', string.format('%.0f', ttl)) end
              if left > ttl then
                -- By a clock that was ahead of this one.
                left = ttl
                redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + left))
              end
              return {left, clamped}
            end
            local epoch = ARGV[4]
            local isRepeated = isHeld and lease[2] == epoch and lease[4] == server
            if stored and stored >= tonumber(epoch) and not isRepeated then return {string.format('%.0f', stored)} end
            local trusted, since = number(lease[5]) and lease[5], nil
            if trusted and server ~= '' and lease[4] == server then
              -- Epochs of an earlier version were times; it knows no `since`.
              local granter, ms = string.match(lease[8] or '', '^(%S+) (%d+)$')
              if not lease[8] or granter and granter ~= server then
                since = number(trusted)
              else
                since = granter and number(ms) or now
              end
            else
              trusted, since = epoch, now
            end
            local based = number(lease[7]) and lease[7]
            if not based or lease[6] ~= ARGV[3] then based = epoch end
            redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'epoch', epoch, 'until', string.format('%.0f', now + ARGV[2]),
              'server', server, 'trusted', trusted, 'since', server .. ' ' .. string.format('%.0f', since),
              'ttl', ARGV[2], 'basis', ARGV[3], 'based', based)
            return {trusted, based, math.max(0, now - since), server, repaired}
            """)

    /// Arguments: owner, epoch, ttlMs. Returns 1 or 0.
    static let renewLease = Script(
        fence + """
            if not holds(ARGV[2]) or redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
            redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + ARGV[3]), 'ttl', ARGV[3])
            return 1
            """)

    /// Arguments: owner, epoch. Returns 1 or 0.
    static let releaseLease = Script(
        fence + """
            if not holds(ARGV[2]) or redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
            redis.call('HSET', KEYS[1], 'owner', '', 'until', '0')
            return 1
            """)

    /// Returns owner, epoch, remaining milliseconds; nil if nobody holds the lease; 1 if no node wrote it.
    static let readLease = Script(
        now + """
            local lease = redis.call('HMGET', KEYS[1], 'owner', 'epoch', 'until')
            local untilMs = number(lease[3])
            if lease[2] and not number(lease[2]) or lease[3] and not untilMs then return 1 end
            if not lease[1] or not number(lease[2]) or not untilMs or untilMs <= now then return false end
            return {lease[1], lease[2], untilMs - now}
            """)

    /// Keys: lease, then one stream for each append. Arguments: epoch; then for each append the maximum length or '',
    /// the expiry or '', the number of names and values, and these. Returns the ids, or nil when fenced off.
    static let appendFenced = Script(
        fence + """
            if not holds(ARGV[1]) then return false end
            local ids, at = {}, 2
            for key = 2, #KEYS do
              local lengthMax, expireMs, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
              local command = {'XADD', KEYS[key]}
              if lengthMax ~= '' then
                command[3], command[4], command[5] = 'MAXLEN', '~', lengthMax
              end
              command[#command + 1] = '*'
              for index = at + 3, at + 2 + count do command[#command + 1] = ARGV[index] end
              ids[#ids + 1] = redis.call(unpack(command))
              if expireMs ~= '' then redis.call('PEXPIRE', KEYS[key], expireMs) end
              at = at + 3 + count
            end
            return ids
            """)

    /// Keys: lease, stream. Arguments: epoch, minimum id. Returns how many entries were removed, or nil when fenced
    /// off.
    static let trimFenced = Script(
        fence + """
            if not holds(ARGV[1]) then return false end
            return redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2])
            """)

    /// Keys: lease, stream. Arguments: epoch, group, id, the greatest lag to count. Returns 1 or 0. `ENTRIESREAD` makes
    /// `XINFO GROUPS` show a lag for a group that never reads.
    static let checkpoint = Script(
        fence + """
            if not holds(ARGV[1]) then return 0 end
            local added = 0
            if redis.call('EXISTS', KEYS[2]) == 1 then
              local info = redis.call('XINFO', 'STREAM', KEYS[2])
              for index = 1, #info, 2 do
                if info[index] == 'entries-added' then added = info[index + 1] end
              end
              added = added - #redis.call('XRANGE', KEYS[2], '(' .. ARGV[3], '+', 'COUNT', ARGV[4])
            end
            local set = redis.pcall('XGROUP', 'SETID', KEYS[2], ARGV[2], ARGV[3], 'ENTRIESREAD', added)
            if set['err'] then
              redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[2], ARGV[3], 'MKSTREAM', 'ENTRIESREAD', added)
            end
            return 1
            """)

    /// Arguments: id, ttlMs, payload. Returns 1 if the node is new or had expired, else 0.
    static let announceNode = Script(
        now + """
            local last = redis.call('HGET', KEYS[1], ARGV[1])
            local untilMs = last and number(string.match(last, '^(%d+):'))
            redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[2]) .. ':' .. ARGV[3])
            return untilMs and untilMs > now and 0 or 1
            """)

    /// Arguments: id, payload. Removes the node if it announced this payload last.
    static let withdrawNode = Script(
        """
        local last = redis.call('HGET', KEYS[1], ARGV[1])
        if last and string.match(last, '^%d+:(.*)$') == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end
        return 0
        """)

    /// Arguments: the maximum time to live in milliseconds, or ''. Returns id, payload and remaining milliseconds of
    /// each node, and last the number of nodes that were removed because their end is not a number. Removes expired
    /// nodes, too, and clamps those that were announced while the clock was ahead.
    static let nodes = Script(
        now + """
            local all, alive, unreadable = redis.call('HGETALL', KEYS[1]), {}, 0
            for index = 1, #all, 2 do
              local untilMs, payload = string.match(all[index + 1], '^(%d+):(.*)$')
              local ms = number(untilMs)
              if ms and ARGV[1] ~= '' and ms > now + ARGV[1] then
                ms = now + ARGV[1]
                redis.call('HSET', KEYS[1], all[index], string.format('%.0f', ms) .. ':' .. payload)
              end
              if ms and ms > now then
                alive[#alive + 1] = all[index]
                alive[#alive + 1] = payload
                alive[#alive + 1] = ms - now
              else
                if not ms then unreadable = unreadable + 1 end
                redis.call('HDEL', KEYS[1], all[index])
              end
            end
            alive[#alive + 1] = unreadable
            return alive
            """)

    static let generationField = "generation"

    /// Arguments: field, value, field, value, …; an empty value removes its field. Returns the new generation. A stored
    /// generation that has no successor counts as absent.
    static let changeOverrides = Script(
        now + """
            local last = number(redis.call('HGET', KEYS[1], 'generation')) or 0
            if last >= 9007199254740991 then last = 0 end
            local generation = string.format('%.0f', math.max(last + 1, now))
            for index = 1, #ARGV, 2 do
              if ARGV[index + 1] == '' then
                redis.call('HDEL', KEYS[1], ARGV[index])
              else
                redis.call('HSET', KEYS[1], ARGV[index], generation .. ' ' .. ARGV[index + 1])
              end
            end
            redis.call('HSET', KEYS[1], 'generation', generation)
            return generation
            """)

    /// Arguments: shard count, format version, incarnation. Returns the stored values.
    static let meta = Script(
        """
        if redis.call('EXISTS', KEYS[1]) == 0 then
          redis.call('HSET', KEYS[1], 'shardCount', ARGV[1], 'formatVersion', ARGV[2], 'incarnation', ARGV[3])
        end
        return redis.call('HMGET', KEYS[1], 'shardCount', 'formatVersion', 'incarnation')
        """)

    /// Arguments: the former and the new format version. Returns the stored one.
    static let raiseFormat = Script(
        """
        if redis.call('HGET', KEYS[1], 'formatVersion') == ARGV[1] then
          redis.call('HSET', KEYS[1], 'formatVersion', ARGV[2])
        end
        return tonumber(redis.call('HGET', KEYS[1], 'formatVersion') or '0')
        """)
}
