-- KEYS: a bucket, a window. ARGV: the bucket's interval and refill, the window's limit. Returns whether the bucket
-- admits, its backlog, the time, whether the window admits, its state.
local interval, refill, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local backlog = (tonumber(redis.call('GET', KEYS[1]) or now) or now) - now
if backlog < 0 then backlog = 0 elseif backlog > refill then backlog = refill end
if backlog + interval > refill then return {0, backlog, now, 0, 0} end
backlog = backlog + interval
redis.call('SET', KEYS[1], now + backlog, 'PX', math.ceil(backlog / 1000) + 1000)
local start = now - now % 60000000
local state = tonumber(redis.call('GET', KEYS[2]) or start) or start
local admitted = 0
if state >= start then admitted = state % 60000000 end
if admitted >= limit then return {1, backlog, now, 0, start + admitted} end
redis.call('SET', KEYS[2], start + admitted + 1, 'PX', 61000)
return {1, backlog, now, 1, start + admitted + 1}
