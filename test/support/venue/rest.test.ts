import { describe, expect, test } from 'bun:test'

import { openMarket, START_MS, startGround } from './ground.ts'
import { bookHash, type Message } from './plain-client.ts'
import type { Venue } from './venue.ts'

type GammaMarket = {
  slug: string
  conditionId: string
  clobTokenIds: string
  outcomes: string
  outcomePrices: string
  eventStartTime: string
  endDate: string
  closed: boolean
  umaResolutionStatus?: string
  eventMetadata?: { priceToBeat: number; finalPrice: number }
  events: { eventMetadata?: object }[]
}
type Page = { markets: GammaMarket[]; next_cursor?: string }

const get = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T
const bySlug = (venue: Venue, slug: string) =>
  get<GammaMarket>(`${venue.gammaUrl}/markets/slug/${slug}`)

describe('gamma', () => {
  test('default: a market by its slug, with JSON within strings', async () => {
    await using venue = await startGround()
    const { slug, assetIds, conditionId } = openMarket(venue)
    const market = await bySlug(venue, slug)
    expect(market).toMatchObject({
      slug,
      conditionId,
      closed: false,
      outcomes: '["Up", "Down"]',
      eventStartTime: '2026-11-22T10:00:00Z',
      endDate: '2026-11-22T10:05:00Z',
      cryptoMarketConfig: { id: 'btc-5m-twap-60', twapEnabled: true, twapLookbackSeconds: 60 },
    })
    expect(JSON.parse(market.clobTokenIds)).toEqual([...assetIds])
    const list = await get<GammaMarket[]>(`${venue.gammaUrl}/markets?slug=${slug}`)
    expect(list.map((each) => each.conditionId)).toEqual([conditionId])
    const event = await get<{ markets: GammaMarket[] }>(`${venue.gammaUrl}/events/slug/${slug}`)
    expect(event.markets[0]?.conditionId).toBe(conditionId)
    expect((await fetch(`${venue.gammaUrl}/markets/slug/none`)).status).toBe(404)
  })

  test('behavior: pages list all open markets and no others', async () => {
    await using venue = await startGround({ coins: ['btc', 'eth', 'sol'] })
    const slugs: string[] = []
    let after = ''
    for (let page: Page | undefined; page === undefined || page.next_cursor;) {
      const query = `limit=5&tag_id=102127${after}`
      page = await get<Page>(`${venue.gammaUrl}/markets/keyset?${query}`)
      slugs.push(...page.markets.map(({ slug }) => slug))
      after = `&after_cursor=${page.next_cursor}`
    }
    const open = venue.markets().filter(({ endMs }) => endMs > START_MS)
    expect(slugs.sort()).toEqual(open.map(({ slug }) => slug).sort())
    const closed = await get<Page>(`${venue.gammaUrl}/markets/keyset?closed=true`)
    expect(closed.markets).toHaveLength(3)
    const until = await get<Page>(
      `${venue.gammaUrl}/markets/keyset?end_date_max=2026-11-22T10:05:00Z`,
    )
    expect(until.markets).toHaveLength(3)
    expect((await fetch(`${venue.gammaUrl}/markets?offset=10`)).status).toBe(422)
  })

  test('behavior: a window is resolved after a delay, which a script can extend', async () => {
    let now = START_MS
    await using venue = await startGround({
      clock: () => now,
      stepsPerSecond: 1,
      resolutionDelayMs: 30_000,
    })
    const { slug, endMs, strike, winner } = openMarket(venue)
    venue.inject({ kind: 'late-resolution', byMs: 60_000 })
    now = endMs + 89_000
    expect(await bySlug(venue, slug)).toMatchObject({ closed: false })
    now = endMs + 91_000
    let market = await bySlug(venue, slug)
    while (!market.closed) market = await bySlug(venue, slug)
    expect(market).toMatchObject({
      closed: true,
      umaResolutionStatus: 'resolved',
      outcomePrices: winner === 0 ? '["1", "0"]' : '["0", "1"]',
      events: [{ eventMetadata: { priceToBeat: Number(strike) } }],
    })
    expect(await get<GammaMarket[]>(`${venue.gammaUrl}/markets?slug=${slug}`)).toEqual([])
  })

  test('behavior: the strike of a window is the final price of the previous one', async () => {
    await using venue = await startGround({ timeframes: ['5m', '15m', '4h'] })
    for (const market of venue.markets()) {
      const before = venue
        .markets()
        .find((each) => each.timeframe === market.timeframe && each.endMs === market.startMs)
      if (before !== undefined) expect(market.strike).toBe(before.finalPrice)
    }
  })

  test('behavior: refuses the number of requests set by the script', async () => {
    const limit = { status: 429, requests: 2, retryAfterSeconds: 3 } as const
    await using venue = await startGround()
    venue.inject({ kind: 'gamma-status', ...limit })
    venue.inject({ kind: 'gamma-status', status: 500, requests: 1 })
    const answers = []
    for (const _ of [1, 2, 3, 4]) answers.push(await fetch(`${venue.gammaUrl}/markets/keyset`))
    expect(answers.map(({ status }) => status)).toEqual([429, 429, 500, 200])
    expect(answers[0]?.headers.get('retry-after')).toBe('3')
    expect(venue.gammaRequests).toHaveLength(4)
  })
})

describe('clob', () => {
  test('default: books of tokens, whose hashes match', async () => {
    await using venue = await startGround()
    const [up, down] = openMarket(venue).assetIds
    const book = await get<Message>(`${venue.clobUrl}/book?token_id=${up}`)
    expect(bookHash(book, book)).toBe(book.hash)
    const body = JSON.stringify([{ token_id: up }, { token_id: down }, { token_id: '1' }])
    const answer = await fetch(`${venue.clobUrl}/books`, { method: 'POST', body })
    const books = (await answer.json()) as Message[]
    expect(books.map(({ asset_id }) => asset_id)).toEqual([up, down])
    for (const each of books) expect(bookHash(each, each)).toBe(each.hash)
    expect((await fetch(`${venue.clobUrl}/book?token_id=1`)).status).toBe(404)
  })
})

describe('crypto price', () => {
  test('default: strike and final price as numbers, only with the look-back', async () => {
    await using venue = await startGround()
    const [before, market] = venue.markets()
    const page = (startMs: number, rest = '&twapEnabled=true&twapLookbackSeconds=60') =>
      get<{ openPrice: number; closePrice: number | null }>(
        `${venue.cryptoPriceUrl}/api/crypto/crypto-price?symbol=BTC&eventStartTime=${new Date(startMs).toISOString()}` +
          `&variant=fiveminute${rest}`,
      )
    expect(await page(market?.startMs ?? 0)).toMatchObject({
      openPrice: Number(market?.strike),
      closePrice: null,
      completed: false,
    })
    expect(await page(before?.startMs ?? 0)).toMatchObject({
      closePrice: Number(before?.finalPrice),
      completed: true,
    })
    const spot = await page(market?.startMs ?? 0, '')
    expect(spot.openPrice).not.toBe(Number(market?.strike))
  })
})
