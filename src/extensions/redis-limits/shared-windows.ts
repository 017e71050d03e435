/**
 * Rate windows of several servers, in a Redis that they share: one call of a script a request.
 * Nothing there must last. While Redis does not answer, each server admits an equal part of each
 * limit, so that all of them together admit no more than the limit.
 */
import type { ShareWindows } from '#src/access/limits.ts'
import type { Clock } from '#src/domain/time.ts'
import type { OwnRateWindows, RateWindow } from '#src/platform/rate-windows.ts'
import type { SharedWindows } from '#src/server/extension.ts'

import { connectLimits, type LimitsLink, type LinkOptions } from './link.ts'

/** What is used of a window, its milliseconds that are left (negative: none), and 1 if taken. */
type Reply = [used: number, leftMs: number, isTaken: 0 | 1]

const TAKE = `local used = tonumber(redis.call('GET', KEYS[1]) or 0)
if used >= tonumber(ARGV[1]) then return {used, redis.call('PTTL', KEYS[1]), 0} end
used = redis.call('INCR', KEYS[1])
if used == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {used, redis.call('PTTL', KEYS[1]), 1}`

/** Keys end in whole milliseconds, after the last one. */
const LAST_MS = 1

/** `timer` is monotonic. */
export async function shareWindows(
  options: LinkOptions & { timer: Clock },
): Promise<SharedWindows> {
  const link = await connectLimits(options)
  const share: ShareWindows = (name, windowMs, own) => {
    const parts = createParts(own, link)
    const ask = async (key: string, limit: number) => {
      const place = `bookfeed:${name}:${key}`
      const [used, leftMs, isTaken] = await link.run<Reply>(TAKE, place, limit, windowMs)
      const nowMs = options.timer()
      const hasBegun = leftMs >= 0
      const endMs = nowMs + (hasBegun ? leftMs + LAST_MS : windowMs)
      // Its part of the limit goes on from there.
      if (isTaken === 1) own.take(key, Number.POSITIVE_INFINITY, nowMs)
      return { used, endMs, isTaken: isTaken === 1, hasBegun }
    }
    return {
      find(key, nowMs) {
        if (!link.isUp()) return parts.find(key, nowMs)
        return ask(key, 0).then(
          (window) => (window.hasBegun ? window : undefined),
          () => parts.find(key, nowMs),
        )
      },
      take(key, limit, nowMs) {
        if (!link.isUp()) return parts.take(key, limit, nowMs)
        return ask(key, limit).catch(() => parts.take(key, limit, nowMs))
      },
    }
  }
  return { share, isUp: link.isUp, dispose: link.dispose }
}

/** This server's part of each limit; what others may admit is as good as used. */
const createParts = (own: OwnRateWindows, { servers }: Pick<LimitsLink, 'servers'>) => ({
  find(key: string, nowMs: number): RateWindow | undefined {
    const window = own.find(key, nowMs)
    return window && { ...window, used: window.used * servers() }
  },
  take(key: string, limit: number, nowMs: number) {
    const part = Math.floor(limit / servers())
    const window = own.take(key, part, nowMs)
    return { ...window, used: window.used + limit - part }
  },
})
