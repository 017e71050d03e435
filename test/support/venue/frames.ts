/** The venue's messages about a market, byte for byte as in its market socket and REST. */
import {
  apply,
  type Change,
  emptySides,
  hashedTail,
  hashOf,
  levelsOf,
  type MarketState,
  mirror,
  printPrice,
  printTradePrice,
  type Recipe,
  type Sides,
  type TokenBook,
  type TokenIndex,
  touchOf,
  versionMember,
} from './book.ts'
import type { Step, Trade, VenueMarket } from './playbook.ts'

/** A message about a market; an extra one is only for clients with `custom_feature_enabled`. */
export type Frame = { type: string; text: string; isExtra?: boolean }

/** The schema since 2025-09-15 23:00 UTC: one message for both tokens. */
export type ChangeSchema = 'current' | 'old'

export type Rendering = {
  market: VenueMarket
  /** Undefined before the market's first step. */
  before: MarketState | undefined
  step: Step
  timestampMs: number
  recipe: Recipe
  schema: ChangeSchema
}

type Applied = { change: Change; touch: ReturnType<typeof touchOf> }

/** Returns the state after a step, and its messages. */
export function render(rendering: Rendering): { state: MarketState; frames: Frame[] } {
  const { before, step, market } = rendering
  const applied: [Applied[], Applied[]] = [[], []]
  const sides = ([0, 1] as const).map((token) => {
    let book: Sides = step.isWhole ? emptySides : (before?.books[token] ?? emptySides)
    for (const each of step.changes) {
      const change = token === 0 ? each : mirror(each)
      book = apply(book, change)
      applied[token].push({ change, touch: touchOf(book) })
    }
    return book
  }) as [Sides, Sides]
  const head = {
    conditionId: socketIdOf(market),
    atMs: step.atMs,
    timestampMs: rendering.timestampMs,
    tick: step.tick ?? before?.tick ?? market.tick,
    lastTradePrice: step.trade ? printTradePrice(step.trade.price) : (before?.lastTradePrice ?? ''),
    version: market.version === 'v2' ? ('v2' as const) : undefined,
  }
  // The recorded hash applies to the recorded time.
  const isAsRecorded =
    rendering.recipe === 'documented' && rendering.timestampMs === step.recorded?.atMs
  const bookOf = (token: TokenIndex): TokenBook => {
    const assetId = market.assetIds[token]
    const own = isAsRecorded && step.recorded?.token === token ? step.recorded.hash : undefined
    const hash = own ?? hashOf({ ...head, assetId, sides: sides[token] }, rendering.recipe)
    return { ...sides[token], assetId, hash }
  }
  const state: MarketState = { ...head, books: [bookOf(0), bookOf(1)] }
  return { state, frames: framesOf(state, rendering, applied) }
}

function framesOf(state: MarketState, rendering: Rendering, applied: [Applied[], Applied[]]) {
  const { step, before, schema } = rendering
  const frames: Frame[] = []
  if (step.tick !== undefined && before) frames.push(...tickFrames(state, before))
  if (step.trade) frames.push(tradeFrame(state, step.trade))
  if (step.isWhole) frames.push({ type: 'book', text: bookArray(state) })
  else if (schema === 'old') frames.push(...oldChangeFrames(state, applied))
  else frames.push(...changeFrames(state, applied))
  if (before) frames.push(...bestFrames(state, before))
  return frames
}

/** Both books in response to a subscription: an array, followed by a newline. */
const bookArray = (state: MarketState): string =>
  `[${state.books.map((book) => bookText(state, book)).join(',')}]\n`

const bookHead = (state: MarketState, { assetId, hash, bids, asks }: TokenBook): string =>
  `{"market":"${state.conditionId}","asset_id":"${assetId}",` +
  `"timestamp":"${state.timestampMs}","hash":"${hash}",` +
  `"bids":${levelsOf(bids)},"asks":${levelsOf(asks)},`

export const bookText = (state: MarketState, book: TokenBook): string =>
  `${bookHead(state, book)}"tick_size":"${state.tick}","event_type":"book",` +
  `"last_trade_price":"${state.lastTradePrice}"${versionMember(state)}}`

/** The response of REST: the hashed text with its hash. */
export const restText = (state: MarketState, book: TokenBook): string =>
  `${bookHead(state, book)}"min_order_size":"5",${hashedTail(state, 'documented')}`

const sideOf = ({ side }: Change): string => (side === 'bids' ? 'BUY' : 'SELL')

/** An order is one message with an entry for each token; all contain the hash after the last. */
function changeFrames(state: MarketState, [up, down]: [Applied[], Applied[]]): Frame[] {
  const entry = (token: TokenIndex, { change, touch }: Applied): string => {
    const { assetId, hash } = state.books[token]
    return (
      `{"asset_id":"${assetId}","price":"${printPrice(change.price)}","size":"${change.size}",` +
      `"side":"${sideOf(change)}","hash":"${hash}",` +
      `"best_bid":"${touch.bestBid}","best_ask":"${touch.bestAsk}"}`
    )
  }
  return up.flatMap((first, index) => {
    const second = down[index]
    if (second === undefined) return []
    const text =
      `{"market":"${state.conditionId}","price_changes":[${entry(0, first)},${entry(1, second)}],` +
      `"timestamp":"${state.timestampMs}","event_type":"price_change"}`
    return [{ type: 'price_change', text }]
  })
}

function oldChangeFrames(state: MarketState, applied: [Applied[], Applied[]]): Frame[] {
  return state.books.map(({ assetId, hash }, token) => {
    const changes = (applied[token] ?? []).map(
      ({ change }) =>
        `{"price":"${printPrice(change.price)}","side":"${sideOf(change)}","size":"${change.size}"}`,
    )
    const text =
      `{"asset_id":"${assetId}","changes":[${changes.join(',')}],"event_type":"price_change",` +
      `"market":"${state.conditionId}","timestamp":"${state.timestampMs}","hash":"${hash}"}`
    return { type: 'price_change', text }
  })
}

const frame = (type: string, fields: object): Frame => ({
  type,
  text: JSON.stringify({ event_type: type, ...fields }),
})

const tradeFrame = (state: MarketState, trade: Trade): Frame =>
  frame('last_trade_price', {
    market: state.conditionId,
    asset_id: state.books[trade.token].assetId,
    price: printTradePrice(trade.price),
    size: trade.size,
    side: trade.side,
    fee_rate_bps: '1000',
    timestamp: String(state.timestampMs),
    transaction_hash: `0x${state.books[0].hash.padEnd(64, '0')}`,
  })

const tickFrames = (state: MarketState, before: MarketState): Frame[] =>
  state.books.map(({ assetId }) =>
    frame('tick_size_change', {
      market: state.conditionId,
      asset_id: assetId,
      old_tick_size: before.tick,
      new_tick_size: state.tick,
      timestamp: String(state.timestampMs),
    }),
  )

const bestFrames = (state: MarketState, before: MarketState): Frame[] =>
  state.books.flatMap((book, token) => {
    const now = touchOf(book)
    const then = touchOf(before.books[token] ?? emptySides)
    if (now.bestBid === then.bestBid && now.bestAsk === then.bestAsk) return []
    const best = frame('best_bid_ask', {
      market: state.conditionId,
      asset_id: book.assetId,
      best_bid: now.bestBid,
      best_ask: now.bestAsk,
      spread: printPrice(Math.round((Number(now.bestAsk) - Number(now.bestBid)) * 1_000_000)),
      timestamp: String(state.timestampMs),
    })
    return [{ ...best, isExtra: true }]
  })

const socketIdOf = ({ socketId, conditionId }: VenueMarket): string => socketId ?? conditionId

export const announcedFrame = (market: VenueMarket, timestampMs: number): Frame => ({
  ...frame('new_market', {
    id: market.conditionId.slice(2, 10),
    question: market.slug,
    market: socketIdOf(market),
    slug: market.slug,
    assets_ids: market.assetIds,
    outcomes: ['Up', 'Down'],
    event_message: { ticker: market.slug, slug: market.slug },
    timestamp: String(timestampMs),
    condition_id: socketIdOf(market),
    active: false,
    clob_token_ids: market.assetIds,
    order_price_min_tick_size: market.tick,
  }),
  isExtra: true,
})

export const resolvedFrame = (market: VenueMarket, timestampMs: number): Frame => ({
  ...frame('market_resolved', {
    id: market.conditionId.slice(2, 10),
    market: socketIdOf(market),
    assets_ids: market.assetIds,
    winning_asset_id: market.assetIds[market.winner],
    winning_outcome: market.winner === 0 ? 'Up' : 'Down',
    timestamp: String(timestampMs),
    tags: [],
  }),
  isExtra: true,
})
