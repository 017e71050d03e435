/**
 * The venue's own package of schemas as an oracle: what it reads, our readers read, and alike. It is
 * for development only; nothing of it runs in the service.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import { GammaMarketSchema } from '@polymarket/bindings/gamma'
import { MarketEventSchema } from '@polymarket/bindings/subscriptions'

import { formatMillionths, parseMillionths } from '#src/domain/decimal.ts'
import { parseConditionId } from '#src/domain/market.ts'
import { type JsonObject, parseJson } from '#src/venue/json-fields.ts'
import { feed } from '#src/venue/polymarket/feed.ts'
import { readMarketRecords } from '#src/venue/record-kinds.ts'

import { NOW_MS } from '../../ingest/import-harness.ts'
import { aGammaMarket } from '../../ingest/market-objects.ts'
import { until } from '../../support/until.ts'
import { follow, startGround } from '../../support/venue/ground.ts'

const shared = '../shared'
const isAbsent = !existsSync(`${shared}/cases`)
const reason = isAbsent ? ' (skipped: ../shared/cases is not here)' : ''

/** Ids of the outcomes in the order of their names, and the market's, as we read them. */
function ours(market: JsonObject) {
  const text = JSON.stringify(market)
  const [record] =
    readMarketRecords(parseJson(text) as JsonObject, { nowMs: NOW_MS, isStrict: false }) ?? []
  if (record?.kind !== 'facts') throw new Error(`no facts: ${JSON.stringify(record)}`)
  const { conditionId, assetIds } = record.facts
  return { conditionId, ids: [assetIds?.up, assetIds?.down] }
}

/** The same as the venue's package reads them, with the ids that the version names. */
function theirs(market: JsonObject) {
  const { version, conditionId, clobTokenIds, positionIds } = GammaMarketSchema.parse(market)
  return {
    conditionId: parseConditionId(conditionId ?? '') ?? '',
    ids: (version === 'v2' ? positionIds : clobTokenIds) as (string | undefined)[],
  }
}

const v2 = { version: 'v2', conditionId: `0x03${'5b'.repeat(30)}` }
const markets: Record<string, unknown>[] = [
  aGammaMarket(),
  aGammaMarket({ version: 'v1' }),
  aGammaMarket({ version: 'v1', positionIds: ['3', '4'] }),
  aGammaMarket({ ...v2, positionIds: ['3', '4'] }),
  aGammaMarket({ ...v2, positionIds: '["3", "4"]', clobTokenIds: null }),
  aGammaMarket({ ...v2, positionIds: '["3","4"]', clobTokenIds: undefined }),
]

const MARKET = `0x${'2079b3cb'.repeat(8)}`
const token = { market: MARKET, asset_id: '58575638925756538882', timestamp: '1789987926108' }
const trade = { event_type: 'last_trade_price', ...token, price: '0.85', size: '12.5', side: 'BUY' }
const change = { asset_id: token.asset_id, price: '0.83', size: '662', side: 'BUY' }
const changes = { event_type: 'price_change', market: MARKET, timestamp: token.timestamp }
const messages: Record<string, unknown>[] = [
  trade,
  { ...trade, size: '', fee_rate_bps: '' },
  { ...trade, size: null, side: 'buy' },
  { ...changes, price_changes: [change] },
  {
    ...changes,
    price_changes: [{ ...change, side: 'sell', best_bid: '', best_ask: '', hash: '' }],
  },
  { ...changes, price_changes: [{ ...change, hash: 'a hash of another form' }] },
  { event_type: 'book', ...token, bids: [], asks: [], hash: null, tick_size: '' },
  { event_type: 'best_bid_ask', ...token, best_bid: '', best_ask: '0.5' },
  { event_type: 'tick_size_change', ...token, old_tick_size: '', new_tick_size: '0.001' },
  { event_type: 'market_resolved', id: '1', market: MARKET },
  { event_type: 'market_resolved', id: '1', market: MARKET, winning_asset_id: null },
  { event_type: 'new_market', id: '1', market: MARKET, slug: null },
]

/** What counts of a message, from the venue's reading of it and from ours. */
type Level = { price: string; size: string; side?: string | undefined }
type Said = {
  market?: string | undefined
  assetId?: string | undefined
  levels: Level[]
  winner?: string | undefined
}

const plain = (text: string): string => formatMillionths(parseMillionths(text) ?? -1)

function venueSays(message: unknown): Said {
  const { type, payload } = MarketEventSchema.parse(message)
  if (type === 'new_market') return { levels: [] }
  const market = parseConditionId(payload.conditionId)
  if (type === 'market_resolved')
    return { market, levels: [], winner: payload.winningAssetId ?? undefined }
  if (type === 'price_change') {
    const levels = payload.priceChanges.map(({ price, size, side }) => ({
      price: plain(price),
      size: plain(size),
      side: String(side),
    }))
    return { market, levels }
  }
  const own = { market, assetId: String(payload.assetId) }
  if (type === 'last_trade_price') {
    const { price, size, side } = payload
    return { ...own, levels: [{ price: plain(price), size: size ? plain(size) : '', side }] }
  }
  if (type !== 'book') return { ...own, levels: [] }
  const levels = [...payload.bids, ...payload.asks]
  return {
    ...own,
    levels: levels.map(({ price, size }) => ({ price: plain(price), size: plain(size) })),
  }
}

function weSay(message: unknown): Said {
  const [event] = feed.decode(JSON.stringify(message))
  if (event === undefined || event.kind === 'fault' || event.kind === 'unknown')
    throw new Error(`not read: ${JSON.stringify(event)}`)
  if (event.kind === 'announced') return { levels: [] }
  const market = event.conditionId
  if (event.kind === 'resolved') return { market, levels: [], winner: event.winningAssetId }
  if (event.kind === 'changes') {
    const levels = event.changes.map(({ price, size, side }) => ({
      price: formatMillionths(price),
      size: formatMillionths(size),
      side: side === 'bids' ? 'BUY' : 'SELL',
    }))
    return { market, levels }
  }
  const own = { market, assetId: event.assetId }
  if (event.kind === 'trade') {
    const { price, size, side } = event
    const sizeText = size === undefined ? '' : formatMillionths(size)
    return {
      ...own,
      levels: [{ price: formatMillionths(price), size: sizeText, side: side?.toUpperCase() }],
    }
  }
  if (event.kind !== 'book') return { ...own, levels: [] }
  // Ours begins with the best level of a side.
  const levels = [event.bids, event.asks].flatMap(({ prices, sizes }) =>
    prices
      .map((price, at) => ({
        price: formatMillionths(price),
        size: formatMillionths(sizes[at] ?? 0),
      }))
      .reverse(),
  )
  return { ...own, levels }
}

describe('readers beside the package of the venue', () => {
  test.each(markets)('default: a market of the catalogue is read alike: %j', (market) =>
    expect(ours(market)).toEqual(theirs(market)),
  )

  test.each([{ version: 'v3' }, { version: 2 }])('error: %j is refused by both', (change) => {
    expect(() => GammaMarketSchema.parse(aGammaMarket(change))).toThrow()
    expect(() => ours(aGammaMarket(change))).toThrow('version:')
  })

  test.skipIf(isAbsent)(
    `behavior: markets of both protocols from files are read alike${reason}`,
    () => {
      const read = (path: string) => readFileSync(`${shared}/${path}`, 'utf8')
      const lines = read('cases/v2-market.ndjson').trim().split('\n')
      const files = [
        ...(JSON.parse(read('cases/v2.json')) as JsonObject[]),
        ...lines.map((line) => JSON.parse(line) as JsonObject),
        ...[JSON.parse(read('data/polymarket/fixture-gamma_market_updown.json'))].flat(),
      ] as JsonObject[]
      expect(files.length).toBeGreaterThanOrEqual(4)
      // Whatever coin it is of: of one that is not kept nothing is read.
      const kept = files.map((market) => {
        return { ...market, slug: String(market.slug).replace(/^\w+-updown/, 'btc-updown') }
      })
      for (const market of kept) expect(ours(market)).toEqual(theirs(market))
    },
  )

  test.each(messages)('default: a message of the socket is read alike: %j', (message) =>
    expect(weSay(message)).toEqual(venueSays(message)),
  )

  test('behavior: so is what the venue of the tests says', async () => {
    await using venue = await startGround({ conditionIdBytes: 31, socketIds: 'padded' })
    using client = await follow(venue, { custom_feature_enabled: true })
    await until(() => client.texts.length > 200)
    const said = client.messages() as unknown[]
    expect(said.length).toBeGreaterThan(100)
    for (const message of said) expect(weSay(message)).toEqual(venueSays(message))
  })
})
