/** Reads markets; knows stored markets and wire shapes, nothing of HTTP. */
import type { CursorCodec } from '#src/core/cursor.ts'
import { type Coin, type Market, outcomes } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/store/history.ts'

import type { MarketBody, MarketList, statuses } from './model.ts'

type Deps = { history: HistoryStore; cursors: CursorCodec; clock: Clock }
type ListOptions = { coin: Coin; limit: number; cursor?: string }

const TIME_BYTES = 6

/** Makes the service of a history. */
export const createMarketService = ({ history, cursors, clock }: Deps) => ({
  /** Throws `cursor_invalid` and `cursor_mismatch`. */
  list({ coin, limit, cursor }: ListOptions): MarketList {
    const scope = `markets ${coin}`
    const after = cursor === undefined ? undefined : toPlace(cursors.decode(scope, cursor))
    // One more than asked tells whether a next page exists.
    const markets = history.listMarkets({ coin, limit: limit + 1, after })
    const last = markets.length > limit ? markets[limit - 1] : undefined
    const nextCursor = last === undefined ? null : cursors.encode(scope, toPayload(last))
    const nowMs = clock()
    return { data: markets.slice(0, limit).map((market) => toBody(market, nowMs)), nextCursor }
  },

  body: (market: Market): MarketBody => toBody(market, clock()),
})

export type MarketService = ReturnType<typeof createMarketService>

function toPayload({ orderMs, conditionId }: Market): Uint8Array {
  const payload = Buffer.alloc(TIME_BYTES + 32)
  payload.writeUIntBE(orderMs, 0, TIME_BYTES)
  payload.write(conditionId.slice(2), TIME_BYTES, 'hex')
  return payload
}

function toPlace(payload: Uint8Array): { orderMs: number; conditionId: string } {
  const bytes = Buffer.from(payload)
  return {
    orderMs: bytes.readUIntBE(0, TIME_BYTES),
    conditionId: `0x${bytes.toString('hex', TIME_BYTES)}`,
  }
}

function toBody(market: Market, nowMs: number): MarketBody {
  const { snapshotCounts, assetIds } = market
  return {
    conditionId: market.conditionId,
    symbol: market.coin,
    timeframe: market.timeframe,
    source: market.source,
    status: toStatus(market, nowMs),
    slug: market.slug ?? null,
    question: market.question ?? null,
    windowStart: toIso(market.windowStartMs),
    windowEnd: toIso(market.windowEndMs),
    winner: market.winner ?? null,
    outcomes: outcomes.map((outcome) => ({
      outcome,
      assetId: assetIds[outcome] ?? null,
      snapshots: snapshotCounts[outcome],
    })),
    snapshots: snapshotCounts.up + snapshotCounts.down,
    firstSnapshot: toIso(market.firstSnapshotMs),
    lastSnapshot: toIso(market.lastSnapshotMs),
    revision: market.revision,
  }
}

function toStatus(market: Market, nowMs: number): (typeof statuses)[number] {
  if (market.winner !== undefined) return 'resolved'
  if (market.isClosed || nowMs >= (market.windowEndMs ?? Number.POSITIVE_INFINITY)) return 'closed'
  return nowMs < (market.windowStartMs ?? 0) ? 'upcoming' : 'open'
}

const toIso = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : new Date(timeMs).toISOString()
