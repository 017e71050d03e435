/**
 * Counts what keys use, in memory; `flush`, on a timer, adds the counters to the ledger. A killed
 * process loses what came after its last flush.
 */

import type { Caller } from '#src/domain/selling/caller.ts'
import { type Clock, DAY_MS, toIsoDay } from '#src/domain/time.ts'
import type { Ledger, UsageEntry, UsageRow } from '#src/ledger/ledger.ts'

const DAYS_KEPT = 90
/** Random, so that no two meters have the same name. */
const NAME_BYTES = 16
/** Bounds how long one flush holds the process. */
const ENTRIES_PER_FLUSH = 500

/** `day` counts from 1970. */
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
  /** Those that still count, by key and route: two maps, so that no text is joined per request. */
  const running = new Map<string, Map<string, Counter>>()
  /** What is being written: as it is, until it is known to be. */
  let part: readonly Counter[] = []
  let number = 1
  let namedDay = toDay(clock())
  let meter = nameOf(namedDay)
  let prunedDay = 0

  function nameOf(day: number): string {
    return `${toText(day)} ${randomBytes(NAME_BYTES).toHex()}`
  }

  /** Once a day forgets what is too old. */
  function prune(day: number): void {
    if (day === prunedDay) return
    ledger.pruneUsage(toText(day - DAYS_KEPT + 1))
    prunedDay = day
  }

  /** What the next flush writes. It stays the same until the ledger has it. */
  function choosePart(): readonly Counter[] {
    if (part.length > 0) return part
    const day = toDay(clock())
    // The ledger forgets the flushes of old names: a part of one would be added again.
    if (day !== namedDay) {
      namedDay = day
      meter = nameOf(day)
      number = 1
    }
    part = [...counters.values().take(ENTRIES_PER_FLUSH)]
    for (const counter of part) forget(counter)
    return part
  }

  function write(): boolean {
    ledger.addUsage(choosePart().map(toEntry), { meter, number })
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

    /**
     * Moves a bounded number of counters into the ledger; true if there are more. What could not be
     * written, or may not have been, is written by the next flush.
     */
    flush(): boolean {
      prune(toDay(clock()))
      return write()
    },

    /** Moves all counters out of here, to be given to `put` of another meter. */
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
