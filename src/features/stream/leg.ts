/** A market of a subscription: what was sent of it, and what is to come. */
import type { Gap } from '#src/domain/coverage.ts'
import { type AppError, ifSound } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import type { Follower } from '#src/live/follower.ts'
import type { Hub } from '#src/live/hub.ts'
import {
  lastRows,
  type LiveRow,
  type RowFilter,
  type RowPage,
  type RowReader,
} from '#src/live/rows.ts'
import type { Paced } from '#src/live/runner.ts'

import { createGapTeller } from './gap-teller.ts'
import { gapText } from './gap-text.ts'
import { createOutbox, emptyText, type Item, type OnSlow, type Outlet } from './outbox.ts'

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
  const { hub } = ports
  const place = { id: JSON.stringify(id), conditionId: market.conditionId }
  const rows = createSender(market, options, ports)
  const { outbox, gaps } = rows
  let isSnapshotOwed = from === undefined
  /** Undefined during a catch-up: one that nobody has joined is gone when the next one leaves. */
  let follower: Follower | undefined
  let farewell: string | undefined

  /** From here on rows come as they are written. */
  function goLive(): void {
    follower = hub.follower(market, filter)
    follower.join(rows.deliver, ports.onFault)
    if (isSnapshotOwed && !rows.sendLast() && from) ports.send(emptyText(place.id))
    gaps.tellAll()
    if (from) ports.send(`{"type":"live","id":${place.id},"conditionId":"${place.conditionId}"}`)
    if (farewell !== undefined) depart(farewell)
  }

  /** Leaves with a last message, after all that was written. */
  function depart(text: string): void {
    ifSound(rows.sendRest)
    gaps.tellAll()
    outbox.tell(text)
    leave()
  }

  function leave(): void {
    rows.stop()
    if (follower) hub.leave(follower, rows.deliver)
    follower = undefined
  }

  /** Reads what is held, and then follows; nothing comes between the two. */
  function* catchUp(): Paced {
    while (!rows.isOver) {
      if (ports.isSlow()) yield SLOW_MS
      else if (rows.sendHeld()) return goLive()
      else yield 0
    }
  }

  return {
    start: (): void => (from ? ports.inTurns(catchUp()) : goLive()),

    /**
     * Sends the last rows; where those that are held still come, after the last of them. Returns
     * whether there are any, or will be said to be none.
     */
    snapshot(): boolean {
      isSnapshotOwed = follower === undefined
      if (isSnapshotOwed) return true
      rows.sendRest()
      return rows.sendLast()
    },

    drained: outbox.drained,

    /** Says something of the market, after the rows before it. */
    tell: outbox.tell,

    /** Those before which rows are still to come are sent with these. */
    tellGaps(): void {
      if (follower && rows.areAll(follower)) gaps.tellAll()
    },

    /** Sends what was written, and then a last message. */
    finish(text: string): void {
      farewell = text
      if (follower) depart(text)
    },

    get isDone() {
      return rows.isOver && outbox.isEmpty
    },

    end(): void {
      leave()
      outbox.clear()
    },
  }
}

export type Leg = ReturnType<typeof createLeg>

/** Sends rows of a market, each once and in order, and gaps between them. */
function createSender(market: Market, options: LegOptions, ports: LegPorts) {
  const { id, filter, from } = options
  const name = JSON.stringify(id)
  const outbox = createOutbox(options, ports)
  const held = createHeld(market, filter, ports)
  /** Rows up to here, inclusive, were sent or passed over. */
  let at = from ?? ports.hub.follower(market, filter).position
  const sendGap = (gap: Gap) => outbox.tell(gapText(name, market, gap))
  const gaps = createGapTeller(held.gaps, sendGap, at.timestampMs)
  let isOver = false

  function deliver(found: readonly LiveRow[]): void {
    gaps.look()
    for (const row of found) {
      if (isOver || comparePositions(row.position, at) <= 0) continue
      gaps.tell(row.position.timestampMs)
      at = row.position
      outbox.push(held.toItem(row))
    }
  }

  return {
    ...{ outbox, gaps, deliver },

    /** Sends what was not handed on yet. */
    sendRest: (): void => deliver([...held.rest(at)]),

    /** Whether all that was written was handed on. */
    areAll: (follower: Follower): boolean => held.isWith(follower),

    /** Returns whether there are any. */
    sendLast(): boolean {
      const last = held.last()
      for (const row of last) {
        at = comparePositions(row.position, at) > 0 ? row.position : at
        outbox.repeat(held.toItem(row))
      }
      return last.length > 0
    },

    /** Sends rows as long as they are taken; returns whether these were the last that are held. */
    sendHeld(): boolean {
      const { rows, resume, hasMore } = held.after(at)
      gaps.look()
      for (const row of rows) {
        gaps.tell(row.position.timestampMs)
        if (isOver || ports.isSlow()) return false
        at = row.position
        outbox.sendNow(held.toItem(row), 'row')
      }
      at = resume
      return !hasMore && !isOver
    },

    stop(): void {
      isOver = true
    },

    get isOver() {
      return isOver
    },
  }
}

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

    last: (): LiveRow[] => lastRows(rows, query()),

    /** Whether all that was written was handed on by its follower. */
    isWith: (follower: Follower): boolean => follower.isAt(marketNow()),

    toItem(row: LiveRow): Item {
      // Made for the first who gets it.
      row.shared ??= shared(market, filter, row)
      // A trade is not the state of anything.
      const lane = filter.channel === 'trades' ? undefined : (row.outcome ?? '')
      return { seq: row.seq, lane, rest: row.shared }
    },
  }
}
