-- KEYS: a window. ARGV: its limit. Returns whether it admits, its state, the time.
local limit = tonumber(ARGV[1])
local start = now - now % 60000000
local state = tonumber(redis.call('GET', KEYS[1]) or start) or start
local admitted = 0
if state >= start then admitted = state % 60000000 end
if admitted >= limit then return {0, start + admitted, now} end
redis.call('SET', KEYS[1], start + admitted + 1, 'PX', 61000)
return {1, start + admitted + 1, now}
