/**
 * Rate windows of several servers, in a Redis that they share: one call of a script a request.
 * Nothing there must last. While a server cannot reach Redis, exactness goes before availability: it
 * admits its share of each limit, and refuses until its minute is over a caller whose requests it
 * cannot count.
 */
import type { ShareWindows } from '#src/access/limits.ts'
import type { OwnRateWindows, RateWindow, TakenWindow } from '#src/platform/rate-windows.ts'
import type { SharedWindows } from '#src/server/extension.ts'

import { connectLimits, type LimitsLink, type LinkOptions } from './link.ts'
import { TAKE, type TakeReply, windowPrefix } from './scripts.ts'

/** Redis rounds what is left of a window down. */
const ROUNDED_MS = 1
/** When a request asks again whose window not every server knows to be pooled: 1.3 s in all. */
const waitsMs = [20, 40, 80, 160, 320, 320, 320] as const
const RATE_WINDOW_MS = 60_000

export async function shareWindows(options: LinkOptions): Promise<SharedWindows> {
  const link = await connectLimits(options)
  const { timer, server } = options

  const share: ShareWindows = (name, windowMs, own) => {
    const prefix = windowPrefix(name)
    /** Requests of this thread, by key, that Redis may have taken and has not answered. */
    const pending = new Map<string, number>()
    const shares = createShares({ prefix, own, link, pending })

    async function askOnce(key: string, limit: number) {
      const begunMs = timer()
      const alone = link.wasAlone(windowMs) ? own.find(key, begunMs) : undefined
      const admitted = alone?.used ?? 0
      const leftMax = alone !== undefined && admitted > 0 ? alone.endMs - begunMs : windowMs
      const values = [limit, server, admitted, Math.ceil(leftMax), link.generation()]
      const [used, leftMs, outcome] = await link.run<TakeReply>(TAKE, [prefix + key], values)
      const nowMs = timer()
      const isTaken = outcome === 'taken'
      const hasBegun = leftMs >= 0
      const endMs = nowMs + (hasBegun ? leftMs + ROUNDED_MS : windowMs)
      if (isTaken) own.take(key, Number.POSITIVE_INFINITY, nowMs, endMs)
      return { used, endMs, isTaken, hasBegun, mustWait: outcome === 'wait' }
    }

    /** Rejects where Redis cannot be reached. */
    const ask = (key: string, limit: number) =>
      link.during(async () => {
        let window = await askOnce(key, limit)
        for (const waitMs of waitsMs) {
          if (!window.mustWait) return window
          await new Promise((resolve) => setTimeout(resolve, waitMs))
          if (!link.isCounting(windowMs)) throw new Error('Redis was lost meanwhile.')
          window = await askOnce(key, limit)
        }
        return window.mustWait ? { ...window, used: limit } : window
      })

    // Reports what this server has admitted of it: the others no longer reserve its share.
    link.onPooled(async (window) => {
      if (!window.startsWith(prefix) || !link.wasAlone(windowMs)) return
      await askOnce(window.slice(prefix.length), 0)
    })

    return {
      find(key, nowMs) {
        if (!link.isCounting(windowMs)) return shares.find(key, nowMs)
        return ask(key, 0).then(
          (window) => (window.hasBegun ? window : undefined),
          () => shares.find(key, nowMs),
        )
      },
      take(key, limit, nowMs) {
        link.noteTake()
        if (!link.isCounting(windowMs)) return shares.take(key, limit, nowMs)
        const count = (by: 1 | -1): void => {
          const sum = (pending.get(key) ?? 0) + by
          if (sum === 0) pending.delete(key)
          else pending.set(key, sum)
        }
        count(1)
        return ask(key, limit)
          .finally(() => count(-1))
          .catch(() => shares.take(key, limit, timer()))
      },
    }
  }
  return { share, isUp: () => link.isCounting(RATE_WINDOW_MS), dispose: link.dispose }
}

/** This server's share of each limit; what others may admit is as good as used. */
function createShares({
  prefix,
  own,
  link,
  pending,
}: {
  prefix: string
  own: OwnRateWindows
  pending: ReadonlyMap<string, number>
  link: Pick<LimitsLink, 'servers' | 'pooledUntil'>
}): OwnRateWindows {
  /** Others may have used all of it. */
  function findPooled(key: string, nowMs: number): TakenWindow | undefined {
    const endMs = link.pooledUntil(prefix + key)
    const isOpen = endMs !== undefined && endMs > nowMs
    return isOpen ? { used: Number.MAX_SAFE_INTEGER, endMs, isTaken: false } : undefined
  }

  return {
    find(key, nowMs): RateWindow | undefined {
      const window = own.find(key, nowMs)
      return findPooled(key, nowMs) ?? (window && { ...window, used: window.used * link.servers() })
    },
    take(key, limit, nowMs) {
      const pooled = findPooled(key, nowMs)
      if (pooled !== undefined) return pooled
      const part = Math.floor(limit / link.servers()) - (pending.get(key) ?? 0)
      const window = own.take(key, part, nowMs)
      return { ...window, used: window.used + limit - part }
    },
  }
}
