/** The catalogue: markets and events as Gamma prints them, and its lists. */
import { touchOf } from './book.ts'
import type { VenueMarket } from './playbook.ts'
import type { Stage } from './stage.ts'

const DAY_MS = 86_400_000
/** `up-or-down`. */
const TAG_ID = '102127'
const PAGE_MAX = 100
const PAGE_DEFAULT = 20

const seconds = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, -5)}Z`
const idOf = ({ conditionId }: VenueMarket): number => Number.parseInt(conditionId.slice(2, 9), 16)

/** A member in the venue's JSON: a number with its decimals, if known. */
const known = (name: string, value: string | undefined): object =>
  value === undefined || value === '' ? {} : { [name]: Number(value) }

const isTwap = ({ timeframe }: VenueMarket): boolean => timeframe !== '1h' && timeframe !== '1d'

function priceConfig(market: VenueMarket): object {
  const { coin, timeframe } = market
  if (!isTwap(market)) return {}
  const id = `${coin}-${timeframe}-twap-60`
  const twap = { twapEnabled: true, twapLookbackSeconds: 60 }
  return { cryptoMarketConfig: { id, asset: coin, duration: timeframe, ...twap } }
}

/** Hours and days are settled by candles of an exchange. */
const resolutionSourceOf = ({ coin, timeframe }: VenueMarket): string =>
  timeframe === '1h' || timeframe === '1d'
    ? `https://www.binance.com/en/trade/${coin.toUpperCase()}_USDT`
    : `https://data.chain.link/streams/${coin}-usd`

function resolution(stage: Stage, market: VenueMarket): object {
  const isResolved = stage.isResolved(market)
  const isV2 = market.version === 'v2'
  if (!isResolved) {
    const open = { outcomePrices: '["0.5", "0.5"]', closed: false }
    if (isV2) return { ...open, resolutionStatus: 'active' }
    return { ...open, umaResolutionStatuses: '[]' }
  }
  const paid = market.winner === 0 ? '["1", "0"]' : '["0", "1"]'
  const status = market.resolution === 'settled' ? 'settled' : 'resolved'
  return {
    outcomePrices: market.resolution === 'void' ? '["0.5", "0.5"]' : paid,
    closed: true,
    closedTime: seconds(market.endMs + stage.settings.resolutionDelayMs).replace('T', ' '),
    ...(isV2
      ? { resolutionStatus: 'resolved' }
      : { umaResolutionStatus: status, umaResolutionStatuses: `["proposed", "${status}"]` }),
  }
}

const metadata = (stage: Stage, market: VenueMarket): object =>
  stage.isResolved(market)
    ? {
        eventMetadata: {
          ...known('priceToBeat', market.strike),
          ...known('finalPrice', market.finalPrice),
        },
      }
    : {}

/** With `events` in lists of markets; an event's own markets are without. */
function marketObject(stage: Stage, market: VenueMarket, isOfEvent: boolean): object {
  const { bestBid = '0', bestAsk = '1' } = touch(stage, market)
  const { tick } = stage.state(market.conditionId) ?? market
  return {
    id: String(idOf(market)),
    question: market.slug,
    conditionId: market.conditionId,
    slug: market.slug,
    resolutionSource: resolutionSourceOf(market),
    endDate: seconds(market.endMs),
    startDate: new Date(market.listedMs).toISOString(),
    outcomes: '["Up", "Down"]',
    active: true,
    archived: false,
    restricted: true,
    enableOrderBook: true,
    orderPriceMinTickSize: Number(tick),
    orderMinSize: 5,
    ...idLists(market),
    acceptingOrders: stage.nowMs() < market.endMs,
    acceptingOrdersTimestamp: seconds(market.startMs - DAY_MS),
    negRisk: false,
    feesEnabled: true,
    feeSchedule: { exponent: 1, rate: stage.settings.feeRate, takerOnly: true, rebateRate: 0.2 },
    bestBid: Number(bestBid),
    bestAsk: Number(bestAsk),
    eventStartTime: seconds(market.startMs),
    ...resolution(stage, market),
    ...priceConfig(market),
    ...(isOfEvent ? {} : { events: [eventHead(stage, market)] }),
  }
}

/** A market of the second protocol may also list unused ids of the first. */
function idLists({ version, assetIds, hidesIds }: VenueMarket): object {
  const said = version === undefined ? {} : { version }
  if (hidesIds) return { ...said, clobTokenIds: null, positionIds: null }
  if (version === undefined || version === 'v1')
    return { ...said, clobTokenIds: `["${assetIds.join('", "')}"]` }
  return { ...said, positionIds: assetIds, clobTokenIds: '["999999999999", "888888888888"]' }
}

function touch(stage: Stage, market: VenueMarket): Partial<ReturnType<typeof touchOf>> {
  const state = stage.state(market.conditionId)
  return state === undefined ? {} : touchOf(state.books[0])
}

const eventHead = (stage: Stage, market: VenueMarket): object => ({
  id: String(idOf(market) + 1),
  ticker: market.slug,
  slug: market.slug,
  title: market.slug,
  startDate: new Date(market.listedMs).toISOString(),
  endDate: seconds(market.endMs),
  startTime: seconds(market.startMs),
  active: true,
  closed: stage.isResolved(market),
  archived: false,
  seriesSlug: `${market.coin}-up-or-down-${market.timeframe}`,
  ...metadata(stage, market),
})

const eventObject = (stage: Stage, market: VenueMarket): object => ({
  ...eventHead(stage, market),
  markets: [marketObject(stage, market, true)],
  series: [{ slug: `${market.coin}-up-or-down-${market.timeframe}`, recurrence: 'daily' }],
  tags: [{ id: TAG_ID, label: 'Up or Down', slug: 'up-or-down' }],
  ...priceConfig(market),
})

/** Answers a request to Gamma; undefined for an unknown path. */
export function answerGamma(stage: Stage, url: URL): Response | undefined {
  const [, kind, form, slug] = url.pathname.split('/')
  if (kind !== 'markets' && kind !== 'events') return undefined
  const print = (market: VenueMarket): object =>
    kind === 'markets' ? marketObject(stage, market, false) : eventObject(stage, market)
  if (form === 'slug') {
    const market = stage.markets().find((each) => each.slug === slug)
    if (market !== undefined) return Response.json(print(market))
    return Response.json({ type: 'not found error', error: 'slug not found' }, { status: 404 })
  }
  // Offsets were removed on 2026-05-01.
  if (url.searchParams.has('offset')) {
    return Response.json({ type: 'validation error', error: 'use keyset' }, { status: 422 })
  }
  const found = select(stage, url.searchParams)
  if (form !== 'keyset') return Response.json(found.slice(0, PAGE_MAX).map(print))
  const limit = Math.min(PAGE_MAX, Number(url.searchParams.get('limit') ?? PAGE_DEFAULT))
  // A parameter `cursor` is ignored; the last page names no next one.
  const after = found.findIndex((each) => cursorOf(each) === url.searchParams.get('after_cursor'))
  const page = found.slice(after + 1, after + 1 + limit)
  const last = page.at(-1)
  const isMore = last !== undefined && last !== found.at(-1)
  return Response.json({
    [kind]: page.map(print),
    ...(isMore ? { next_cursor: cursorOf(last) } : {}),
  })
}

const cursorOf = (market: VenueMarket): string =>
  Buffer.from(market.conditionId).toString('base64url')

function select(stage: Stage, query: URLSearchParams): VenueMarket[] {
  const isClosed = query.get('closed') === 'true'
  const has = (name: string, ...values: string[]): boolean =>
    !query.has(name) || query.getAll(name).some((each) => values.includes(each))
  const minMs = Date.parse(query.get('end_date_min') ?? '') || Number.NEGATIVE_INFINITY
  const maxMs = Date.parse(query.get('end_date_max') ?? '') || Number.POSITIVE_INFINITY
  return stage
    .markets()
    .filter(
      (market) =>
        stage.isResolved(market) === isClosed &&
        has('slug', market.slug) &&
        has('condition_ids', market.conditionId) &&
        has('clob_token_ids', ...market.assetIds) &&
        has('tag_id', TAG_ID) &&
        market.endMs >= minMs &&
        market.endMs <= maxMs,
    )
    .sort((a, b) => a.endMs - b.endMs || (a.slug < b.slug ? -1 : 1))
}
