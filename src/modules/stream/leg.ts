/** A market of a subscription: what was sent of it, and what waits. */
import { type Market, outcomes } from '#src/core/market.ts'
import { comparePositions, type Position } from '#src/core/snapshot.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import type { Hub } from '#src/live/hub.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'

/** Rows that wait for a slow consumer at most, who chose to be closed. */
const WAITING_MAX = 5000
/** Rows that are read in one step of catching up. */
const STEP_ROWS = 100

export type LegOptions = {
  id: string
  filter: RowFilter
  /** Exclusive; undefined begins with the last rows. */
  from: Position | undefined
  onSlow: 'conflate' | 'close'
}

export type LegPorts = {
  hub: Hub
  rows: RowReader
  /** The market of now. */
  findMarket: (conditionId: string) => Market | undefined
  /** Members that every message of a row has, whoever gets it. */
  shared: (market: Market, filter: RowFilter, row: LiveRow) => string
  /** Does work in turns with everybody else's. */
  inTurns: (steps: Steps<void>) => void
  send: (text: string) => void
  /** True while the connection takes no more. */
  isSlow: () => boolean
  tooSlow: () => void
}

/** Makes a leg; `start` begins it. */
export function createLeg(
  market: Market,
  { id, filter, from, onSlow }: LegOptions,
  { hub, rows, send, ...ports }: LegPorts,
) {
  const follower = hub.follower(market, filter)
  const name = JSON.stringify(id)
  /** Rows up to here, inclusive, were sent or passed over. */
  let at = from ?? follower.position
  let prevSeq: number | null = null
  let [skipped, isOver] = [0, false]
  const waiting: LiveRow[] = []

  function sendRow(row: LiveRow, type: 'row' | 'snapshot' = 'row'): void {
    const missed = skipped > 0 ? `"skipped":${skipped},` : ''
    const rest = ports.shared(market, filter, row)
    send(`{"type":"${type}","id":${name},"prevSeq":${prevSeq},${missed}${rest}}`)
    prevSeq = row.position.id
    skipped = 0
  }

  /** Sends, or keeps what the connection does not take now. */
  function deliver(found: readonly LiveRow[]): void {
    for (const row of found) {
      if (isOver || comparePositions(row.position, at) <= 0) continue
      at = row.position
      if (waiting.length === 0 && !ports.isSlow()) sendRow(row)
      else wait(row)
    }
  }

  /** Of a book only the newest state has to be known. */
  function wait(row: LiveRow): void {
    const older = waiting.findIndex(({ outcome }) => outcome === row.outcome)
    if (onSlow === 'conflate' && older >= 0) {
      waiting.splice(older, 1)
      skipped++
    }
    waiting.push(row)
    if (waiting.length > WAITING_MAX) ports.tooSlow()
  }

  function snapshot(): void {
    for (const row of latestRows(rows, market, filter)) {
      at = comparePositions(row.position, at) > 0 ? row.position : at
      sendRow(row, 'snapshot')
    }
  }

  /** Reads what is held after a place, and then follows; nothing comes between the two. */
  function* catchUp(place: Position): Steps<void> {
    let after = place
    while (!isOver) {
      const now = ports.findMarket(market.conditionId) ?? market
      // The past is not read faster than it is taken.
      const page = ports.isSlow()
        ? undefined
        : rows.after({ ...filter, market: now, after, limit: STEP_ROWS })
      deliver(page?.rows ?? [])
      after = page?.resume ?? after
      if (page?.hasMore === false) {
        follower.join(deliver)
        send(`{"type":"live","id":${name},"conditionId":"${market.conditionId}"}`)
        return
      }
      yield
    }
  }

  return {
    start(): void {
      if (from === undefined) {
        snapshot()
        follower.join(deliver)
      } else ports.inTurns(catchUp(from))
    },

    snapshot,

    drained(): void {
      while (waiting.length > 0 && !ports.isSlow()) {
        const row = waiting.shift()
        if (row) sendRow(row)
      }
    },

    end(): void {
      isOver = true
      hub.leave(follower, deliver)
    },
  }
}

export type Leg = ReturnType<typeof createLeg>

/** The last row of each outcome that has one. */
const latestRows = (rows: RowReader, market: Market, filter: RowFilter): LiveRow[] =>
  (filter.outcome === undefined ? outcomes : [filter.outcome]).flatMap(
    (outcome) => rows.latest({ ...filter, market, outcome }) ?? [],
  )
