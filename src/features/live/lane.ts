/** Followers of the same rows whose streams are in step: what is written, is written once. */
import type { Coin, Market, Timeframe } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { UNRESOLVED_MS } from '#src/live/hub.ts'
import { lastRows, type RowFilter, type RowReader } from '#src/live/rows.ts'

import { changesOf, createLeg, type Leg, type LegPorts, takeGap, unwrittenGaps } from './leg.ts'
import type { Member } from './member.ts'
import type { Output } from './output.ts'
import type { Places } from './places.ts'

/** Rows that are read at a time. */
const STEP_ROWS = 100
export const nowhere: Position = { timestampMs: 0, id: 0 }

export type LaneOptions = {
  coin: Coin
  /** Undefined for every open market of the coin. */
  conditionId: string | undefined
  timeframe: Timeframe | undefined
  filter: RowFilter
  heartbeatMs: number
}

export type LanePorts = LegPorts & {
  history: MarketHistory
  rows: RowReader
  places: Places
  /** Monotonic milliseconds. */
  timer: Clock
}

export type LaneState = { output: Output; legs: Map<string, Leg> }

export function createLane(options: LaneOptions, ports: LanePorts, { output, legs }: LaneState) {
  const { coin, conditionId, timeframe, filter, heartbeatMs } = options
  const { history, timer } = ports
  const members = new Set<Member>()
  /** Those for whom pieces may wait. */
  const late = new Set<Member>()
  const linesBefore = createLines(options, ports, legs)
  const writer = { filter, output, linesBefore, ports, put, say }
  const writeRows = createRowWriter(writer)
  const writeLast = createLastWriter(writer)
  let sentMs = timer()

  function put(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    sentMs = timer()
    for (const member of members) if (!member.push(bytes)) late.add(member)
  }
  function say(name: string, json: string): void {
    put(output.event(`event:${name}\ndata:${toAscii(json)}`))
  }

  /** Writes some of what is new. */
  function advance(leg: Leg): void {
    const market = history.findMarket(leg.market.conditionId) ?? leg.market
    leg.market = market
    if (market.revision !== leg.revision) {
      if (!writeRows(leg)) return
      leg.revision = market.revision
    }
    for (const [name, json] of changesOf(leg, ports)) say(name, json)
    const isOver = ports.clock() > (market.windowEndMs ?? Infinity) + UNRESOLVED_MS
    if (conditionId === undefined && (leg.status === 'resolved' || isOver))
      legs.delete(market.conditionId)
  }

  /** Returns undefined for a market that is followed, or is not wanted. */
  function add(market: Market, at: Position | undefined): Leg | undefined {
    if ((timeframe ?? market.timeframe) !== market.timeframe || legs.has(market.conditionId)) return
    const leg = createLeg(ports, { market, at, filter })
    legs.set(market.conditionId, leg)
    return leg
  }

  const sayOpen = ({ market }: Leg): void => say('market_open', ports.describeMarket(market))

  /** Why a market that opened cannot be read: the next writing ends with it, and no other lane. */
  let fault: unknown
  const watch =
    conditionId === undefined
      ? ports.hub.watch(coin, ({ kind, market }) => {
          try {
            const leg = kind === 'open' ? add(market, undefined) : undefined
            if (leg === undefined) return
            sayOpen(leg)
            writeLast([leg])
          } catch (error) {
            fault = error
          }
        })
      : undefined

  return {
    ...{ options, members, late, output, legs },

    /** Begins a stream, with the last rows unless it continues. */
    start(isContinued: boolean): void {
      put(output.event('retry:3000'))
      for (const market of watch?.open ?? []) add(market, isContinued ? nowhere : undefined)
      for (const leg of legs.values()) if (leg.at === nowhere) sayOpen(leg)
      if (!isContinued) writeLast(legs.values())
    },

    /** Writes some of what is new. */
    advance(): void {
      if (fault !== undefined) throw fault
      for (const leg of [...legs.values()]) advance(leg)
      if (timer() - sentMs >= heartbeatMs) put(output.event(':'))
    },

    stop: (): void => watch?.stop(),
  }
}

export type Lane = ReturnType<typeof createLane>

type RowWriter = {
  filter: RowFilter
  output: Output
  linesBefore: ReturnType<typeof createLines>
  ports: LanePorts
  put: (bytes: Uint8Array) => void
  say: (name: string, json: string) => void
}

/** Writes some rows, and each gap after those before it; returns whether these were all. */
function createRowWriter({ filter, output, linesBefore, ports, put, say }: RowWriter) {
  return (leg: Leg): boolean => {
    for (const gap of [...unwrittenGaps(leg, ports), undefined]) {
      const toMs = gap && gap.fromMs + 1
      if (toMs === undefined || toMs > leg.at.timestampMs) {
        const { market, at: after } = leg
        const query = { market, outcome: filter.outcome, after, toMs, limit: STEP_ROWS }
        const page = output.rows(query, (at) => linesBefore('row', leg, at))
        leg.at = page.last ?? leg.at
        put(page.bytes)
        if (page.hasMore) return false
      }
      if (gap) say('gap', takeGap(leg, gap))
    }
    return true
  }
}

/** Writes the last rows of markets. */
function createLastWriter({ filter, output, linesBefore, ports, put }: RowWriter) {
  return (legs: Iterable<Leg>): void => {
    const latest = [...legs].flatMap((leg) =>
      lastRows(ports.rows, { ...filter, market: leg.market }).map((row) => ({ leg, row })),
    )
    for (const [index, { leg, row }] of latest.entries()) {
      const lines = linesBefore('snapshot', leg, row.position)
      // Whoever is cut off before the last of them has no place to continue from: begins again.
      const before = index < latest.length - 1 ? 'event:snapshot\ndata:' : lines
      put(output.row(leg.market, row, before))
    }
  }
}

/** What is before the data of an event, which takes a market to the place of a row. */
function createLines(options: LaneOptions, { places }: LanePorts, legs: LaneState['legs']) {
  const { conditionId, filter } = options
  const cursorOf = (leg: Leg): string =>
    conditionId === undefined
      ? places.encode(options, legs.values())
      : places.ofMarket.encode(leg.market, filter, leg.at)

  return (name: 'row' | 'snapshot', leg: Leg, at: Position): string => {
    leg.at = comparePositions(at, leg.at) > 0 ? at : leg.at
    return `event:${name}\nid:${cursorOf(leg)}\ndata:`
  }
}

/** JSON without any character that a stream of rows has no code for; they are all in strings. */
export const toAscii = (json: string): string =>
  json.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
