/** A market of a subscription: what was sent of it, and what is to come. */
import type { Gap } from '#src/core/coverage.ts'
import type { AppError } from '#src/core/errors.ts'
import { type Market, outcomes } from '#src/core/market.ts'
import { comparePositions, type Position } from '#src/core/snapshot.ts'
import type { Follower } from '#src/live/follower.ts'
import type { Hub } from '#src/live/hub.ts'
import type { LiveRow, RowFilter, RowPage, RowReader } from '#src/live/rows.ts'
import type { Paced } from '#src/live/runner.ts'

import { createGapTeller } from './gap-teller.ts'
import { gapText } from './gap-text.ts'
import { createOutbox, type Item, type OnSlow, type Outlet } from './outbox.ts'

/** Rows that are read in one step of catching up. */
const STEP_ROWS = 50
/** The past is not read faster than it is taken: whoever takes no more is asked again so late. */
export const SLOW_MS = 20

export type LegOptions = {
  id: string
  filter: RowFilter
  /** Exclusive; undefined begins with the last rows. */
  from: Position | undefined
  onSlow: OnSlow
}

export type LegPorts = Outlet & {
  hub: Hub
  rows: RowReader
  /** The market of now. */
  findMarket: (conditionId: string) => Market | undefined
  /** What every message of a row has, whoever gets it; `}` is its end. */
  shared: (market: Market, filter: RowFilter, row: LiveRow) => string
  gaps: (market: Market) => readonly Gap[]
  /** Does work in turns with everybody else's. */
  inTurns: (steps: Paced) => void
  /** Says why nothing more comes. */
  onFault: (error: AppError) => void
}

/** Makes a leg; `start` begins it. */
export function createLeg(market: Market, options: LegOptions, ports: LegPorts) {
  const { id, filter, from } = options
  const { hub, send } = ports
  const name = JSON.stringify(id)
  const outbox = createOutbox(options, ports)
  const held = createHeld(market, filter, ports)
  /** Rows up to here, inclusive, were sent or passed over. */
  let at = from ?? hub.follower(market, filter).position
  const sendGap = (gap: Gap) => send(gapText(name, market, gap))
  const gaps = createGapTeller(held.gaps, sendGap, at.timestampMs)
  let [isOver, isSnapshotOwed] = [false, from === undefined]
  /** Undefined during a catch-up: one that nobody has joined is gone when the next one leaves. */
  let follower: Follower | undefined

  function deliver(found: readonly LiveRow[]): void {
    for (const row of found) {
      if (isOver || comparePositions(row.position, at) <= 0) continue
      at = row.position
      outbox.push(held.toItem(row))
    }
  }

  function sendLast(): void {
    for (const row of held.last()) {
      at = comparePositions(row.position, at) > 0 ? row.position : at
      outbox.repeat(held.toItem(row))
    }
  }

  /** From here on rows come as they are written. */
  function goLive(): void {
    follower = hub.follower(market, filter)
    follower.join(deliver, ports.onFault)
    if (isSnapshotOwed) sendLast()
    gaps.tellAll()
    if (from) send(`{"type":"live","id":${name},"conditionId":"${market.conditionId}"}`)
  }

  /** Sends rows as long as they are taken; returns whether these were the last that are held. */
  function sendHeld({ rows, resume, hasMore }: RowPage): boolean {
    gaps.look()
    for (const row of rows) {
      gaps.tell(row.position.timestampMs)
      if (isOver || ports.isSlow()) return false
      at = row.position
      outbox.sendNow(held.toItem(row), 'row')
    }
    at = resume
    return !hasMore && !isOver
  }

  /** Reads what is held after `at`, and then follows; nothing comes between the two. */
  function* catchUp(): Paced {
    while (!isOver) {
      if (ports.isSlow()) yield SLOW_MS
      else if (sendHeld(held.after(at))) return goLive()
      else yield 0
    }
  }

  return {
    start: (): void => (from ? ports.inTurns(catchUp()) : goLive()),

    /** Sends the last rows; where those that are held still come, after the last of them. */
    snapshot(): void {
      isSnapshotOwed = follower === undefined
      if (isSnapshotOwed) return
      // They come after those before them that were not handed on yet.
      deliver([...held.rest(at)])
      sendLast()
    },

    drained: outbox.drained,

    tellGaps(): void {
      if (follower) gaps.tellAll()
    },

    end(): void {
      isOver = true
      outbox.clear()
      if (follower) hub.leave(follower, deliver)
    },
  }
}

export type Leg = ReturnType<typeof createLeg>

/** What is held of a market, and rows as they are sent. */
function createHeld(market: Market, filter: RowFilter, ports: LegPorts) {
  const { rows, shared, findMarket, gaps } = ports
  const marketNow = () => findMarket(market.conditionId) ?? market
  const query = () => ({ ...filter, market: marketNow() })

  const after = (at: Position): RowPage => rows.after({ ...query(), after: at, limit: STEP_ROWS })

  return {
    gaps: () => gaps(marketNow()),
    after,

    *rest(at: Position): Generator<LiveRow> {
      for (let page = after(at); ; page = after(page.resume)) {
        yield* page.rows
        if (!page.hasMore) return
      }
    },

    /** The last one of each outcome, in order of time. */
    last: (): LiveRow[] =>
      (filter.outcome === undefined ? outcomes : [filter.outcome])
        .flatMap((outcome) => rows.latest({ ...query(), outcome }) ?? [])
        .sort((a, b) => comparePositions(a.position, b.position)),

    toItem(row: LiveRow): Item {
      // Made for the first who gets it.
      row.shared ??= shared(market, filter, row)
      // A trade is not the state of anything.
      const lane = filter.channel === 'trades' ? undefined : (row.outcome ?? '')
      return { seq: row.position.id, lane, rest: row.shared }
    },
  }
}
