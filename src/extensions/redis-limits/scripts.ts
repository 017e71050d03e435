/**
 * What runs in Redis. While Redis cannot be reached, a server admits its share of a limit: 1/N of it.
 * So a window holds, for each server, the share that it has not used; one that has ended keeps its
 * share for a minute, because what it admitted counts. When a server needs more than
 * its own share, the window becomes pooled: once every server knows that it has no share of this
 * window, the whole limit is for the server that asks first.
 */

/** Beyond this part of its share, a server probably needs more: then the others learn of it early. */
const POOLED_FROM = '3 / 4'
/**
 * A server that was silent for so long cannot reach Redis: its share is not waited for. If it was not
 * heard since Redis was away, it may have admitted that share by itself, so no other has it.
 */
const SILENT_MS = 1_000
/** If no server was heard for so long, Redis was away. */
const AWAY_MS = 400

/** Of all windows together. */
export const keys = {
  /** When each thread was heard last, by `SERVER THREAD`. */
  threads: 'bookfeed:threads',
  /** The number of the last pooled window that each thread has acknowledged. */
  acknowledged: 'bookfeed:acknowledged',
  /** Pooled windows by number, and by end. */
  pooled: 'bookfeed:pooled',
  pooledEnds: 'bookfeed:pooled-ends',
  /** The number of the newest pooled window. */
  lastNumber: 'bookfeed:last-number',
  /** When Redis was back that had been away: a server heard last then may have been alone since. */
  backAt: 'bookfeed:back-at',
  /** When Redis was empty. */
  generation: 'bookfeed:generation',
} as const

export const windowPrefix = (name: string): string => `bookfeed:window:${name}:`

/** As `time` and `now`, in milliseconds. */
const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * What is used of a window, its milliseconds that are left (negative: none), and what was done.
 * `wait`: not every server has acknowledged yet that the window is pooled.
 */
export type TakeReply = [used: number, leftMs: number, outcome: 'refused' | 'taken' | 'wait']

/**
 * Takes one from a window, which is a hash of admitted requests by server. Values: the limit; the
 * server; how many requests the server has admitted, if it admitted some without Redis, or 0; the
 * milliseconds of a window that begins; the generation of which the server knows.
 */
export const TAKE = `if redis.call('GET', '${keys.generation}') ~= ARGV[5] then
  return redis.error_reply('NOCOUNTS Redis has lost its counts')
end
local window, limit, server = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local counts, used, pooled = {}, 0, false
local fields = redis.call('HGETALL', window)
for at = 1, #fields, 2 do
  if fields[at] == 'pooled' then
    pooled = tonumber(fields[at + 1])
  else
    counts[fields[at]] = tonumber(fields[at + 1])
    used = used + fields[at + 1]
  end
end
local own, admitted = counts[server] or 0, tonumber(ARGV[3])
local function reply(outcome)
  local left = redis.call('PTTL', window)
  if left == -1 then
    left = tonumber(ARGV[4])
    redis.call('PEXPIRE', window, left)
  end
  return {used, left, outcome}
end
if admitted > own then
  redis.call('HSET', window, server, admitted)
  used = used + admitted - own
  own = admitted
end
if used >= limit then return reply('refused') end

local seen = redis.call('ZRANGE', '${keys.threads}', 0, -1, 'WITHSCORES')
local holds, lost, servers = {[server] = not pooled}, {}, 1
local backAt = pooled and redis.call('GET', '${keys.backAt}')
${NOW}
for at = 1, #seen, 2 do
  local name = string.match(seen[at], '^%S+')
  if holds[name] == nil then
    servers = servers + 1
    holds[name] = false
  end
  if not pooled then
    holds[name] = true
  elseif tonumber(redis.call('HGET', '${keys.acknowledged}', seen[at]) or 0) < pooled then
    local isSilent = now - seen[at + 1] > ${SILENT_MS}
    if isSilent and seen[at + 1] == backAt then lost[name] = true end
    if not isSilent then holds[name] = true end
  end
end
local share, held, kept = math.floor(limit / math.max(servers, 1)), 0, 0
counts[server] = own + 1
for name, isHolding in pairs(holds) do
  local left = math.max(share - (counts[name] or 0), 0)
  if isHolding then held = held + left elseif lost[name] then kept = kept + left end
end
if used + 1 + kept > limit then return reply('refused') end
local fits = used + 1 + held + kept <= limit
if fits then
  redis.call('HSET', window, server, own + 1)
  used = used + 1
end
local result = reply(fits and 'taken' or 'wait')
local isNear = servers > 1 and share > 0 and own + 1 >= share * ${POOLED_FROM}
if not pooled and (isNear or not fits) then
  local number = redis.call('INCR', '${keys.lastNumber}')
  redis.call('HSET', window, 'pooled', number)
  redis.call('ZADD', '${keys.pooled}', number, window)
  redis.call('ZADD', '${keys.pooledEnds}', now + redis.call('PTTL', window), window)
end
return result`

/** The number of servers, the generation, the number of the newest pooled window, and those that are new to it. */
export type BeatReply = [
  servers: number,
  generation: string,
  lastNumber: number,
  ...pooled: [window: string, leftMs: number][],
]

/**
 * Values: the thread; the milliseconds after which a silent one is gone; the number of the last
 * pooled window that it knows of, and in which generation. Says that a thread of a server is there, and which pooled windows it knows of. The silence of
 * threads does not count while Redis was away.
 */
export const BEAT = `local thread, absentMs, number = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
${NOW}
redis.call('SET', '${keys.generation}', table.concat(time, '.'), 'NX')
local generation = redis.call('GET', '${keys.generation}')
if generation ~= ARGV[4] then number = 0 end

local last = redis.call('ZRANGE', '${keys.threads}', -1, -1, 'WITHSCORES')
if last[2] and now - last[2] > ${AWAY_MS} then
  redis.call('SET', '${keys.backAt}', now)
  for _, other in ipairs(redis.call('ZRANGE', '${keys.threads}', 0, -1)) do
    redis.call('ZADD', '${keys.threads}', now, other)
  end
end
redis.call('ZADD', '${keys.threads}', now, thread)
redis.call('HSET', '${keys.acknowledged}', thread, number)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', '${keys.threads}', '-inf', now - absentMs)) do
  redis.call('ZREM', '${keys.threads}', gone)
  redis.call('HDEL', '${keys.acknowledged}', gone)
end
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', '${keys.pooledEnds}', '-inf', now)) do
  redis.call('ZREM', '${keys.pooledEnds}', ended)
  redis.call('ZREM', '${keys.pooled}', ended)
end

local names, servers = {}, 0
for _, other in ipairs(redis.call('ZRANGE', '${keys.threads}', 0, -1)) do
  local name = string.match(other, '^%S+')
  if not names[name] then servers = servers + 1 end
  names[name] = true
end
local result = {servers, generation, tonumber(redis.call('GET', '${keys.lastNumber}') or 0)}
for _, window in ipairs(redis.call('ZRANGEBYSCORE', '${keys.pooled}', '(' .. number, '+inf')) do
  result[#result + 1] = {window, redis.call('PTTL', window)}
end
return result`

/**
 * A thread ends. Values: the thread; 1 if it may have admitted requests of windows that run: then its
 * server is counted until it counts as gone, but has no share of pooled windows any more.
 */
export const LEAVE = `if ARGV[2] == '1' then
  return redis.call('HSET', '${keys.acknowledged}', ARGV[1], ${Number.MAX_SAFE_INTEGER})
end
redis.call('ZREM', '${keys.threads}', ARGV[1])
return redis.call('HDEL', '${keys.acknowledged}', ARGV[1])`

/** Whether scripts may run and write. */
export const PROBE = `return redis.call('PSETEX', KEYS[1], 1, '')`
