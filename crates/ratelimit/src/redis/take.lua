-- KEYS: a bucket. ARGV: its interval and refill, in microseconds. Returns whether it admits, its backlog, the time.
local interval, refill = tonumber(ARGV[1]), tonumber(ARGV[2])
local backlog = (tonumber(redis.call('GET', KEYS[1]) or now) or now) - now
if backlog < 0 then backlog = 0 elseif backlog > refill then backlog = refill end
if backlog + interval > refill then return {0, backlog, now} end
backlog = backlog + interval
redis.call('SET', KEYS[1], now + backlog, 'PX', math.ceil(backlog / 1000) + 1000)
return {1, backlog, now}
