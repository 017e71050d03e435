/**
 * Counts the usage of keys in memory; `flush`, called by a timer, adds the counters to the ledger.
 * A killed process loses the usage since its last flush.
 */

import type { Caller } from '#src/domain/selling/caller.ts'
import { type Clock, DAY_MS, toIsoDay } from '#src/domain/time.ts'
import type { Ledger, UsageEntry, UsageRow } from '#src/ledger/ledger.ts'

const DAYS_KEPT = 90
/** Random, so that no two meters have the same name. */
const NAME_BYTES = 16
/** Bounds how long a flush blocks the process. */
const ENTRIES_PER_FLUSH = 500

/** The counter of a day; `day` is the number of days since 1970. */
type Counter = Omit<UsageEntry, 'day'> & { accountId: string; day: number }

export type UsageMeter = ReturnType<typeof createUsageMeter>

export function createUsageMeter({
  ledger,
  clock,
  randomBytes,
}: {
  ledger: Pick<Ledger, 'addUsage' | 'usageOf' | 'pruneUsage'>
  clock: Clock
  randomBytes: (length: number) => Uint8Array
}) {
  const counters = new Set<Counter>()
  /** Active counters by key and route: two maps, so that no text is joined per request. */
  const running = new Map<string, Map<string, Counter>>()
  /** Counters that are being written, unchanged until the write is known to have succeeded. */
  let part: readonly Counter[] = []
  let number = 1
  let namedDay = toDay(clock())
  let meter = nameOf(namedDay)
  let prunedDay = 0

  function nameOf(day: number): string {
    return `${toText(day)} ${randomBytes(NAME_BYTES).toHex()}`
  }

  /** Deletes old usage once a day. */
  async function prune(day: number): Promise<void> {
    if (day === prunedDay) return
    await ledger.pruneUsage(toText(day - DAYS_KEPT + 1))
    prunedDay = day
  }

  /** The counters that the next flush writes. They stay the same until the ledger has them. */
  function choosePart(): readonly Counter[] {
    if (part.length > 0) return part
    const day = toDay(clock())
    // The ledger forgets the flushes of old names, so a part with an old name would be added twice.
    if (day !== namedDay) {
      namedDay = day
      meter = nameOf(day)
      number = 1
    }
    part = [...counters.values().take(ENTRIES_PER_FLUSH)]
    for (const counter of part) forget(counter)
    return part
  }

  async function write(): Promise<boolean> {
    await ledger.addUsage(choosePart().map(toEntry), { meter, number })
    part = []
    number++
    return counters.size > 0
  }

  function use(caller: Caller, route: string): Counter {
    const nowMs = clock()
    const day = toDay(nowMs)
    const known = running.get(caller.keyId)?.get(route)
    if (known?.day === day) {
      known.lastUsedMs = nowMs
      return known
    }
    const { keyId, accountId } = caller
    const counter = { keyId, accountId, route, day, requests: 0, bytes: 0, lastUsedMs: nowMs }
    const routes = running.get(keyId) ?? new Map<string, Counter>()
    running.set(keyId, routes.set(route, counter))
    counters.add(counter)
    return counter
  }

  function forget(counter: Counter): void {
    const { keyId, route } = counter
    counters.delete(counter)
    const routes = running.get(keyId)
    if (routes?.get(route) === counter) routes.delete(route)
    if (routes?.size === 0) running.delete(keyId)
  }

  return {
    /** Counts a completed request. */
    add(caller: Caller, route: string, bytes: number): void {
      const counter = use(caller, route)
      counter.requests++
      counter.bytes += bytes
    },

    /** Adds bytes to a request that has been counted. */
    addBytes(caller: Caller, route: string, bytes: number): void {
      use(caller, route).bytes += bytes
    },

    /**
     * Moves a bounded number of counters into the ledger; returns true if more remain. Counters
     * whose write failed, or may have failed, are written by the next flush.
     */
    async flush(): Promise<boolean> {
      await prune(toDay(clock()))
      return write()
    },

    /** Removes and returns all counters, to be passed to `put` of another meter. */
    take(): Counter[] {
      const taken = [...counters]
      counters.clear()
      running.clear()
      return taken
    },

    put(taken: readonly Counter[]): void {
      for (const counter of taken) counters.add(counter)
    },

    /** The usage of the caller's account over the last 90 days, until now. */
    usageOf({ accountId }: Caller): UsageRow[] {
      const today = toDay(clock())
      const counted = [...part, ...counters].filter((counter) => counter.accountId === accountId)
      return [...ledger.usageOf(accountId, toText(today - DAYS_KEPT + 1)), ...counted.map(toEntry)]
    },
  }
}

const toEntry = ({ accountId: _, day, ...counted }: Counter): UsageEntry =>
  Object.assign(counted, { day: toText(day) })

const toDay = (ms: number): number => Math.floor(ms / DAY_MS)
const toText = (day: number): string => toIsoDay(day * DAY_MS)
