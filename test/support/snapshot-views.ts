/** The expected parts and views of snapshots, computed from the written rows by lists. */
import { consolidate, type TaggedLadder } from '#src/domain/consolidated.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { Ladder, Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'

import { expectedRows, type KnownMarket, toText } from './market-history.ts'
import { readPage, type Send } from './page-client.ts'

/** The rows of a market in order, with their assigned ids. */
export async function readKnown(send: Send, market: KnownMarket): Promise<StoredSnapshot[]> {
  const { body } = await readPage(send, market.path, { limit: 1000 })
  return expectedRows(market).map((row, at) => ({ ...row, id: Number(body.data[at]?.id) }))
}

const cutLadder = ({ prices, sizes }: Ladder, depth?: number): Ladder => ({
  prices: prices.slice(0, depth),
  sizes: sizes.slice(0, depth),
})

export type Wish = { depth?: number | undefined; fields?: readonly string[] | undefined }

/** The JSON of a row with only the requested parts. */
export function toCutText(row: Snapshot & { id: number }, { depth, fields }: Wish): string {
  const shorter = { ...row, bids: cutLadder(row.bids, depth), asks: cutLadder(row.asks, depth) }
  const text = toText(shorter, String(row.id))
  if (fields === undefined) return text
  // Commas before the name of a field, not within a level.
  const members = text.slice(1, -1).split(/,(?="(?!price|size)\w+":)/)
  return `{${members.filter((each) => fields.some((name) => each.startsWith(`"${name}":`))).join(',')}}`
}

/** The last row of an outcome at or before a moment, of rows in order. */
export const rowAt = (rows: readonly StoredSnapshot[], outcome: Outcome, timeMs: number) =>
  rows.findLast((row) => row.outcome === outcome && row.timestampMs <= timeMs)

/** The last row of each outcome in each step, of rows in order; of any outcome with `isAny`. */
export const lastInSteps = (
  rows: readonly StoredSnapshot[],
  stepMs: number,
  isAny = false,
): StoredSnapshot[] =>
  rows.filter((row, at) => {
    const next = rows.slice(at + 1).find(({ outcome }) => isAny || outcome === row.outcome)
    return next === undefined || stepOf(next, stepMs) > stepOf(row, stepMs)
  })

type Steps = { stepMs: number; outcome?: Outcome | undefined; toMs: number }

/**
 * The last rows of an open market's steps that are followed by a state of each requested outcome.
 */
export function decidedOf(
  kept: readonly StoredSnapshot[],
  rows: readonly StoredSnapshot[],
  { stepMs, outcome, toMs }: Steps,
): StoredSnapshot[] {
  const held = (['up', 'down'] as const)
    .filter((each) => (outcome ?? each) === each)
    .map((each) => rows.findLast((row) => row.outcome === each))
  return kept.filter((row) => {
    const lastMs = Math.min(stepOf(row, stepMs) * stepMs, toMs - 1)
    return held.every((last) => last === undefined || last.timestampMs > lastMs)
  })
}

/** Steps end with their last millisecond. */
const stepOf = ({ timestampMs }: Snapshot, stepMs: number) => Math.ceil(timestampMs / stepMs)

/** The parsed consolidated row of one outcome at a moment. */
export function toConsolidated(
  rows: readonly StoredSnapshot[],
  { outcome, timeMs, row }: { outcome: Outcome; timeMs: number; row?: StoredSnapshot },
  depth?: number,
) {
  const stateOf = (each: Outcome) =>
    row?.outcome === each ? row : rowAt(rows, each, row?.timestampMs ?? timeMs)
  const own = stateOf(outcome)
  const mirror = stateOf(outcome === 'up' ? 'down' : 'up')
  const book = consolidate(own, mirror)
  if (book === undefined) return undefined
  const newest = row ?? rows.findLast(({ id }) => id === book.own?.id || id === book.mirror?.id)
  const assetId = rows.find((each) => each.outcome === outcome)?.assetId ?? null
  return {
    id: String(newest?.id),
    assetId,
    conditionId: newest?.conditionId,
    symbol: newest?.coin,
    outcome,
    timeframe: newest?.timeframe,
    timestamp: toIso(newest),
    bids: toLevels(book.bids, depth),
    asks: toLevels(book.asks, depth),
    sources: {
      own: toSource(book.own),
      mirror: toSource(book.mirror),
      skewMs: book.skewMs ?? null,
    },
  }
}

const toIso = (position: Pick<Position, 'timestampMs'> | undefined): string =>
  new Date(position?.timestampMs ?? 0).toISOString()

const toSource = (position: Position | undefined) =>
  position === undefined ? null : { id: String(position.id), timestamp: toIso(position) }

const toLevels = ({ prices, sizes, sources }: TaggedLadder, depth?: number) =>
  prices
    .map((price, at) => ({
      price: price / 1e6,
      size: (sizes[at] ?? 0) / 1e6,
      source: sources[at] ?? 'own',
    }))
    .slice(0, depth)
