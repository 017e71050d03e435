import { describe, expect, test } from 'bun:test'

import { isUsable } from '#src/venue/catalogue.ts'
import { createCatalogue } from '#src/venue/polymarket/catalogue.ts'

import { openMarket, START_MS, startGround } from '../../support/venue/ground.ts'
import type { Venue } from '../../support/venue/venue.ts'

/** A catalogue of a venue, and the paths that it was asked for; `isHidden` ones are not there. */
function connect({ gammaUrl }: Venue, isHidden: (path: string) => boolean = () => false) {
  const asked: string[] = []
  const catalogue = createCatalogue({
    url: gammaUrl,
    async fetch(url, options) {
      const { pathname, search } = new URL(url)
      asked.push(`${pathname}${search}`)
      return isHidden(pathname) ? new Response(null, { status: 404 }) : fetch(url, options)
    },
  })
  return { catalogue, asked }
}

const asking = { nowMs: START_MS, signal: new AbortController().signal }
const windowOf = ({ coin, timeframe, startMs, endMs }: ReturnType<typeof openMarket>) =>
  ({ coin, timeframe, startMs, endMs }) as Parameters<ReturnType<typeof createCatalogue>['find']>[0]

const factsOf = (found: Awaited<ReturnType<ReturnType<typeof createCatalogue>['find']>>) =>
  isUsable(found) ? found : undefined

describe('find', () => {
  test('default: asks by the name of the window', async () => {
    await using venue = await startGround()
    const market = openMarket(venue)
    const { catalogue, asked } = connect(venue)
    expect(await catalogue.find(windowOf(market), asking)).toMatchObject({
      conditionId: market.conditionId,
      slug: market.slug,
      settlementRule: 'twap60',
      assetIds: { up: market.assetIds[0], down: market.assetIds[1] },
    })
    expect(asked).toEqual([`/events/slug/${market.slug}`])
  })

  test('behavior: hours and days are settled by candles', async () => {
    await using venue = await startGround({ timeframes: ['1h', '1d'] })
    const { catalogue } = connect(venue)
    const markets = venue.markets().filter(({ startMs }) => startMs <= START_MS)
    const rules = await Promise.all(
      markets.map(
        async (market) => factsOf(await catalogue.find(windowOf(market), asking))?.settlementRule,
      ),
    )
    expect(new Set(rules)).toEqual(new Set(['binance-1h', 'binance-1d']))
  })

  test('behavior: a market of the second protocol has its position ids, and one id', async () => {
    await using venue = await startGround({ conditionIdBytes: 31, socketIds: 'padded' })
    const market = openMarket(venue)
    const { catalogue } = connect(venue)
    expect(await catalogue.find(windowOf(market), asking)).toMatchObject({
      conditionId: market.socketId,
      assetIds: { up: market.assetIds[0], down: market.assetIds[1] },
    })
  })

  test.each([
    [{ version: 'v3' }, 'version: neither v1 nor v2'],
    [{ version: 'v2', hidesIds: true }, 'positionIds: missing, in a market of version v2'],
    [{ version: 'v1', hidesIds: true }, 'clobTokenIds: missing, in a market of version v1'],
  ])('behavior: %j is listed and not usable, and says why', async (options, unusable) => {
    await using venue = await startGround(options)
    const window = windowOf(openMarket(venue))
    expect(await connect(venue).catalogue.find(window, asking)).toEqual({ unusable })
    const onlyLists = connect(venue, (path) => path.startsWith('/events/slug/')).catalogue
    expect(await onlyLists.find(window, asking)).toEqual({ unusable })
  })

  test.each([
    ['v1', []],
    [undefined, ['no version']],
  ])(
    'behavior: a market of the version %s is usable, with as many warnings as %j',
    async (version, warnings) => {
      await using venue = await startGround({ version })
      const texts: string[] = []
      const catalogue = createCatalogue({
        url: venue.gammaUrl,
        fetch: (url, options) => fetch(url, options),
        warn: (text) => texts.push(text),
      })
      expect(factsOf(await catalogue.find(windowOf(openMarket(venue)), asking))).toBeDefined()
      expect(texts.map((text) => /no version/.exec(text)?.[0] ?? text)).toEqual(warnings)
    },
  )

  test('behavior: where no name is known, the lists of what ends then have it, page after page', async () => {
    await using venue = await startGround({ coins: ['btc', 'eth', 'sol', 'xrp'] })
    const { catalogue, asked } = connect(venue, (path) => path.startsWith('/events/slug/'))
    for (const market of venue.markets().filter(({ endMs }) => endMs > START_MS)) {
      const found = factsOf(await catalogue.find(windowOf(market), asking))
      expect(found?.conditionId).toBe(market.conditionId)
    }
    const lists = asked.filter((path) => path.startsWith('/markets/keyset?'))
    expect(lists.length).toBeGreaterThan(0)
    for (const list of lists) {
      expect(list).toContain('closed=false')
      expect(list).not.toContain('offset=')
    }
  })

  test('behavior: a page that names a next one is followed from there', async () => {
    const pages = [
      { markets: [], next_cursor: 'first' },
      { markets: [], next_cursor: 'second' },
      { markets: [] },
    ]
    const cursors: (string | null)[] = []
    const catalogue = createCatalogue({
      url: 'http://gamma',
      async fetch(url) {
        const { pathname, searchParams } = new URL(url)
        if (pathname !== '/markets/keyset') return new Response(null, { status: 404 })
        cursors.push(searchParams.get('after_cursor'))
        return Response.json(pages[cursors.length - 1])
      },
    })
    const window = { coin: 'btc', timeframe: '5m', startMs: START_MS, endMs: START_MS } as const
    expect(await catalogue.find(window, asking)).toBeUndefined()
    expect(cursors).toEqual([null, 'first', 'second'])
  })

  test('error: a refusal says how long to wait', async () => {
    await using venue = await startGround()
    venue.inject({ kind: 'gamma-status', status: 429, requests: 1, retryAfterSeconds: 3 })
    const { catalogue } = connect(venue)
    const fault = await catalogue.find(windowOf(openMarket(venue)), asking).catch((error) => error)
    expect(fault).toMatchObject({ kind: 'catalogue' })
    expect(fault).toMatchObject({ retryAfterMs: 3000 })
  })
})

describe('strike', () => {
  const strikeAt = (response: Response) => {
    const ports = { url: 'http://gamma', pricesUrl: 'http://site', fetch: async () => response }
    const window = { coin: 'btc', timeframe: '5m', startMs: START_MS, endMs: START_MS } as const
    return createCatalogue(ports).strike?.(window, asking)
  }

  test('default: is the opening price; a window that the page does not have has none', async () => {
    expect(await strikeAt(Response.json({ openPrice: 64_000.5 }))).toBe('64000.5')
    for (const status of [400, 404])
      expect(await strikeAt(Response.json({ error: 'no such window' }, { status }))).toBeUndefined()
  })

  test('error: says that it was the page', async () => {
    const away = strikeAt(new Response(null, { status: 503 }))
    expect(away).rejects.toThrow('The page answered with status 503.')
    expect(strikeAt(new Response('<html>'))).rejects.toThrow('The page did not answer with JSON.')
  })
})

describe('costs', () => {
  const padded = `0x01${'ab'.repeat(30)}00`
  const short = padded.slice(0, -2)
  const terms = {
    t: [],
    mts: 0.01,
    mos: 5,
    itode: true,
    oas: 3,
    fd: { r: 0.07, e: 1, to: true },
  }
  const costsBy = (answer: (path: string) => Response) => {
    const fetch = async (url: string) => answer(new URL(url).pathname)
    const ports = { url: 'http://gamma', orderBookUrl: 'http://clob', fetch }
    return createCatalogue(ports).costs?.(padded, asking)
  }

  test('default: delays are in milliseconds, and fees have no rebate', async () => {
    await using venue = await startGround()
    const { conditionId, assetIds } = openMarket(venue)
    const { costs } = createCatalogue({ url: '', orderBookUrl: venue.clobUrl, fetch })
    expect(await costs?.(conditionId, asking)).toEqual({
      assetIds: { up: assetIds[0], down: assetIds[1] },
      tickSize: 10_000,
      fees: { rate: '0.07', exponent: '1', takerOnly: true },
      takerDelayMs: 250,
      orderAgeMs: 0,
    })
    expect(await costsBy(() => Response.json(terms))).toMatchObject({ orderAgeMs: 3000 })
    const plain = { t: [], mts: 0.01, fd: { r: null, e: null, to: null } }
    expect(await costsBy(() => Response.json(plain))).toMatchObject({
      fees: undefined,
      takerDelayMs: 0,
      orderAgeMs: undefined,
    })
  })

  test('behavior: an id that was padded is tried without the padding', async () => {
    const asked: string[] = []
    const found = await costsBy((path) => {
      asked.push(path)
      return path.endsWith(padded)
        ? new Response(null, { status: 404 })
        : Response.json({ ...terms, c: short })
    })
    expect(found?.takerDelayMs).toBe(250)
    expect(asked).toEqual([`/clob-markets/${padded}`, `/clob-markets/${short}`])
    expect(await costsBy(() => new Response(null, { status: 404 }))).toBeUndefined()
  })

  test.each<[unknown, string]>([
    ['<html>', 'The order book API did not answer with JSON.'],
    [[], 'not an object'],
    [{ error: 'rate limited' }, 't: not an array'],
    [{ ...terms, c: `0x${'cd'.repeat(32)}` }, `c: not ${padded}`],
    [{ ...terms, itode: 'soon' }, 'itode: not a number of milliseconds up to 60000'],
    [{ ...terms, oas: -1 }, 'oas: not a number of milliseconds up to 3600000'],
    [{ ...terms, fd: { r: 'free', e: 1, to: true } }, 'fd.r: not a plain decimal'],
  ])('error: %j is a fault of the order book API', (body, reason) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    expect(costsBy(() => new Response(text))).rejects.toThrow(reason)
  })
})
