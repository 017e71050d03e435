/**
 * The venue's other HTTP interfaces: books of tokens, terms of markets, and the page with the coin's
 * prices of a window.
 */
import { restText } from './frames.ts'
import type { VenueMarket } from './playbook.ts'
import type { Stage } from './stage.ts'

/** Answers a request to the CLOB; undefined for an unknown path. */
export async function answerClob(
  stage: Stage,
  url: URL,
  request: Request,
): Promise<Response | undefined> {
  if (url.pathname === '/book') {
    const text = bookOf(stage, url.searchParams.get('token_id') ?? '')
    if (text !== undefined) return json(text)
    const error = 'No orderbook exists for the requested token id'
    return Response.json({ error }, { status: 404 })
  }
  const [, conditionId] = /^\/clob-markets\/(.+)$/.exec(url.pathname) ?? []
  if (conditionId !== undefined) {
    const market = stage.markets().find((each) => each.conditionId === conditionId)
    if (market !== undefined) return Response.json(termsOf(stage, market))
    return Response.json({ error: 'market not found' }, { status: 404 })
  }
  if (url.pathname !== '/books' || request.method !== 'POST') return undefined
  const wanted = (await request.json()) as { token_id: string }[]
  return json(`[${wanted.flatMap(({ token_id }) => bookOf(stage, token_id) ?? []).join(',')}]`)
}

/** `itode` is left out if it is false. */
function termsOf({ settings, state }: Stage, market: VenueMarket): object {
  const { conditionId, assetIds } = market
  const { tick } = state(conditionId) ?? market
  return {
    r: {},
    t: ['Up', 'Down'].map((o, index) => ({ t: assetIds[index], o })),
    c: conditionId,
    mos: 5,
    mts: Number(tick),
    mbf: 1000,
    tbf: 1000,
    ao: true,
    ...(settings.hasTakerDelay ? { itode: true } : {}),
    fd: { r: settings.feeRate, e: 1, to: true },
    oas: 0,
  }
}

const json = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'application/json' } })

function bookOf(stage: Stage, assetId: string): string | undefined {
  const state = stage.stateOfToken(assetId)
  const book = state?.books.find((each) => each.assetId === assetId)
  return state === undefined || book === undefined ? undefined : restText(state, book)
}

/**
 * Answers `/api/crypto/crypto-price`: time-weighted prices with `twapEnabled=true`, otherwise spot;
 * the closing price is null until the window has ended.
 */
export function answerCryptoPrice(stage: Stage, url: URL): Response | undefined {
  if (url.pathname !== '/api/crypto/crypto-price') return undefined
  const query = url.searchParams
  const coin = (query.get('symbol') ?? '').toLowerCase()
  const startMs = Date.parse(query.get('eventStartTime') ?? '')
  const endMs = Date.parse(query.get('endDate') ?? '')
  const market = stage
    .markets()
    .find(
      (each) => each.coin === coin && each.startMs === startMs && (!endMs || each.endMs === endMs),
    )
  if (market === undefined) return Response.json({ error: 'no such window' }, { status: 400 })
  const now = stage.nowMs()
  const isTwap = query.get('twapEnabled') === 'true' && query.get('twapLookbackSeconds') === '60'
  const [open, close] = isTwap
    ? [market.strike, market.finalPrice]
    : [stage.spot(coin, market.startMs), stage.spot(coin, market.endMs)]
  const isCompleted = now >= market.endMs
  return Response.json({
    openPrice: now >= market.startMs ? Number(open) : null,
    closePrice: isCompleted ? Number(close) : null,
    timestamp: Math.floor(now),
    completed: isCompleted,
    incomplete: false,
    cached: false,
  })
}
