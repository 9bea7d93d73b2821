/// The operations as scripts, each of which the server runs as a whole.
///
/// Each script's first argument is the time in microseconds, which tests set. If it is empty, the server's clock
/// counts. The end of a value, a window or a lease is part of the record. The expiry of the server only frees the
/// memory, and is a second later, so it cannot remove a record that counts.
///
/// The duration (`span`) is part of the record too: if the server's clock was set back, so that the end is further away
/// than the duration, the end moves to one duration from now. Nothing ends before its time, and nothing lasts for
/// hours.
///
/// Numbers of Lua are exact up to 2^53, enough for microseconds until the year 2255. Larger numbers stay texts.
enum ValkeyScript: Int, Sendable, CaseIterable {
    case get, set, add, take, renew, release

    private static let prelude = """
        local now = ARGV[1]
        if now == '' then
            local time = redis.call('TIME')
            now = time[1] * 1000000 + time[2]
        else
            now = tonumber(now)
        end
        local function text(number) return string.format('%.0f', number) end
        local function after(duration) return text(now + tonumber(duration)) end
        local function ending(last, span)
            last, span = tonumber(last or nil), tonumber(span or nil)
            if last and span and last > now + span then
                last = now + span
                redis.pcall('HSET', KEYS[1], 'end', text(last))
            end
            return last
        end
        local function expire(key, duration, extra)
            redis.call('PEXPIRE', key, text(math.ceil(tonumber(duration) / 1000) + tonumber(extra)))
        end

        """

    /// The text for the server.
    var text: String { Self.prelude + body }

    private var body: String {
        switch self {
        case .get:
            """
            local found = redis.call('HMGET', KEYS[1], 'data', 'version', 'end', 'span')
            local last = ending(found[3], found[4])
            if not found[2] or (last and last <= now) then return false end
            return {found[1], found[2]}
            """
        case .set:
            // Arguments: time, condition, fencing number, version, lifetime, retention, channel, data. An empty version
            // removes the value. A server without memory refuses the first HSET; once a script has written, its other
            // commands are not refused. The script publishes before it writes: if the user may not publish, nothing has
            // changed. Other clients see the notice after the end of the script.
            """
            local condition, fence, version, lifetime = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
            local latest = fence ~= '' and redis.call('GET', KEYS[2])
            if latest and (#fence < #latest or (#fence == #latest and fence < latest)) then return 'stale' end
            local found = redis.call('HMGET', KEYS[1], 'version', 'end', 'span')
            local current, last = found[1], ending(found[2], found[3])
            if last and last <= now then current = false end
            if condition == 'absent' then
                if current then return 0 end
            elseif condition ~= '' and current ~= condition then
                return 0
            end
            redis.call('PUBLISH', ARGV[7], '')
            if version == '' then
                redis.call('DEL', KEYS[1])
            elseif lifetime == '' then
                redis.call('HSET', KEYS[1], 'data', ARGV[8], 'version', version)
                redis.call('HDEL', KEYS[1], 'end', 'span')
                redis.call('PERSIST', KEYS[1])
            else
                local last = after(lifetime)
                redis.call('HSET', KEYS[1], 'data', ARGV[8], 'version', version, 'end', last, 'span', lifetime)
                expire(KEYS[1], lifetime, 1000)
            end
            if fence ~= '' then redis.call('SET', KEYS[2], fence, 'PX', ARGV[6]) end
            return 1
            """
        case .add:
            // Arguments: time, amount, window. An overflow leaves the counter at its limit.
            """
            local found = redis.call('HMGET', KEYS[1], 'end', 'span')
            local last = ending(found[1], found[2])
            if not last or last <= now then
                last = now + tonumber(ARGV[3])
                redis.call('HSET', KEYS[1], 'count', '0', 'end', text(last), 'span', ARGV[3])
                expire(KEYS[1], ARGV[3], 1000)
            end
            local sum = redis.pcall('HINCRBY', KEYS[1], 'count', ARGV[2])
            if type(sum) == 'table' and sum.err then
                if not string.find(sum.err, 'overflow') then return sum end
                local isNegative = string.sub(ARGV[2], 1, 1) == '-'
                redis.call('HSET', KEYS[1], 'count', isNegative and '-9223372036854775808' or '9223372036854775807')
            end
            return {redis.call('HGET', KEYS[1], 'count'), text(last - now)}
            """
        case .take:
            // Arguments: time, duration, holder, retention. Fencing numbers are times, so they also grow if the server
            // has lost its data.
            """
            local found = redis.call('HMGET', KEYS[1], 'holder', 'number', 'end', 'span')
            if found[1] and ending(found[3], found[4]) > now then return false end
            local number = text(math.max(tonumber(found[2] or '0') + 1, now))
            redis.call('HSET', KEYS[1], 'holder', ARGV[3], 'number', number, 'end', after(ARGV[2]), 'span', ARGV[2])
            expire(KEYS[1], ARGV[2], ARGV[4])
            return number
            """
        case .renew:
            // Arguments: time, duration, holder, number, retention.
            """
            local found = redis.call('HMGET', KEYS[1], 'holder', 'number')
            if found[1] ~= ARGV[3] or found[2] ~= ARGV[4] then return 0 end
            redis.call('HSET', KEYS[1], 'end', after(ARGV[2]), 'span', ARGV[2])
            expire(KEYS[1], ARGV[2], ARGV[5])
            return 1
            """
        case .release:
            // Arguments: time, holder, number.
            """
            local found = redis.call('HMGET', KEYS[1], 'holder', 'number')
            if found[1] ~= ARGV[2] or found[2] ~= ARGV[3] then return 0 end
            redis.call('HDEL', KEYS[1], 'holder', 'end', 'span')
            return 1
            """
        }
    }
}
