/**
 * Counts what keys use, in memory; `flush`, on a timer, adds the counters to the ledger. A killed
 * process loses what came after its last flush.
 */
import { type Clock, DAY_MS } from '#src/core/time.ts'
import type { Ledger, UsageEntry, UsageRow } from '#src/ledger/ledger.ts'
import type { Caller } from '#src/selling/caller.ts'

const DAYS_KEPT = 90
/** Bounds how long one flush holds the process. */
const ENTRIES_PER_FLUSH = 500

type UsageMeterDeps = { ledger: Pick<Ledger, 'addUsage' | 'usageOf' | 'pruneUsage'>; clock: Clock }
/** `day` counts from 1970. */
type Counter = Omit<UsageEntry, 'keyId' | 'day'> & { caller: Caller; day: number }

export type UsageMeter = ReturnType<typeof createUsageMeter>

export function createUsageMeter({ ledger, clock }: UsageMeterDeps) {
  const counters = new Set<Counter>()
  /** Those that still count, by key and route: two maps, so that no text is joined per request. */
  const running = new Map<string, Map<string, Counter>>()
  let prunedDay = 0

  function prune(day: number): void {
    if (day === prunedDay) return
    ledger.pruneUsage(toText(day - DAYS_KEPT + 1))
    prunedDay = day
  }

  function use(caller: Caller, route: string): Counter {
    const nowMs = clock()
    const day = Math.floor(nowMs / DAY_MS)
    const known = running.get(caller.keyId)?.get(route)
    if (known?.day === day) {
      known.lastUsedMs = nowMs
      return known
    }
    const counter = { caller, route, day, requests: 0, bytes: 0, lastUsedMs: nowMs }
    const routes = running.get(caller.keyId) ?? new Map<string, Counter>()
    running.set(caller.keyId, routes.set(route, counter))
    counters.add(counter)
    return counter
  }

  function forget(counter: Counter): void {
    const { caller, route } = counter
    counters.delete(counter)
    const routes = running.get(caller.keyId)
    if (routes?.get(route) === counter) routes.delete(route)
    if (routes?.size === 0) running.delete(caller.keyId)
  }

  return {
    /** Counts one answered request. */
    add(caller: Caller, route: string, bytes: number): void {
      const counter = use(caller, route)
      counter.requests++
      counter.bytes += bytes
    },

    /** Counts more bytes of a request that was counted before. */
    addBytes(caller: Caller, route: string, bytes: number): void {
      use(caller, route).bytes += bytes
    },

    /** Moves a bounded number of counters into the ledger; true if there are more. */
    flush(): boolean {
      prune(Math.floor(clock() / DAY_MS))
      const part = [...counters.values().take(ENTRIES_PER_FLUSH)]
      if (part.length > 0) ledger.addUsage(part.map(toEntry))
      // Only now: what could not be written is written by the next flush.
      for (const counter of part) forget(counter)
      return counters.size > 0
    },

    /** Moves all counters out of here; whoever has them then gives them to `put` of another. */
    take(): Counter[] {
      const taken = [...counters]
      counters.clear()
      running.clear()
      return taken
    },

    put(taken: readonly Counter[]): void {
      for (const counter of taken) counters.add(counter)
    },

    /** What the caller's account used in the last 90 days, up to this moment. */
    usageOf({ accountId }: Caller): UsageRow[] {
      const today = Math.floor(clock() / DAY_MS)
      const counted = counters.values().filter(({ caller }) => caller.accountId === accountId)
      return [...ledger.usageOf(accountId, toText(today - DAYS_KEPT + 1)), ...counted.map(toEntry)]
    },
  }
}

const toEntry = ({ caller, day, ...counted }: Counter): UsageEntry => ({
  ...counted,
  keyId: caller.keyId,
  day: toText(day),
})

const toText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)
