/** Everything that callers do, at a rate that a server sustains, until it is told to end. */
import { coins } from '#src/domain/market.ts'

/** Pauses between two of the same kind, so that the load is a mixture and no flood. */
const PAGE_MS = 25
const EXPORT_MS = 2000
const KEY_MS = 1000
const STREAM_MS_MAX = 20_000
const PAGERS = 3
const EVENT_READERS = 4
const SOCKETS = 4
/** Answers that are asked for again by their tag; this process must not grow itself. */
const TAGS_MAX = 100
/** What a socket is closed with whose key is no longer valid. */
const REVOKED = 4001

export type Tally = {
  requests: number
  bytes: number
  /** Of live connections. */
  rows: number
  /** 503, which is no fault where others use the machine too. */
  refused: number
  faults: string[]
}

/** What callers share: a place to count, the key in use, and the end. */
type Caller = { origin: string; key: string; tally: Tally; signal: AbortSignal }

export function startSoakLoad(origin: string, key: string) {
  const tally: Tally = { requests: 0, bytes: 0, rows: 0, refused: 0, faults: [] }
  const stop = new AbortController()
  const caller: Caller = { origin, key, tally, signal: stop.signal }
  const many = (count: number, start: () => Promise<void>) => Array.from({ length: count }, start)
  const work = [
    ...many(PAGERS, () => repeat(caller, PAGE_MS, createPager(caller))),
    ...many(EVENT_READERS, () => repeat(caller, 0, (round) => followEvents(caller, round))),
    ...many(SOCKETS, () => repeat(caller, 0, (round) => followSocket(caller, round))),
    repeat(caller, EXPORT_MS, (round) => takeExport(caller, round)),
    repeat(caller, KEY_MS, () => replaceKey(caller)),
  ]
  return {
    tally,
    async end(): Promise<void> {
      stop.abort()
      await Promise.all(work)
    },
  }
}

type Act = (round: number) => Promise<unknown>

/** Does it again and again; what the end cuts off is no fault. */
async function repeat({ tally, signal }: Caller, pauseMs: number, act: Act): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    try {
      await act(round)
    } catch (error) {
      if (!signal.aborted) tally.faults.push(String(error))
    }
    await Bun.sleep(pauseMs)
  }
}

/** The answer, or undefined where it is none that can be used. */
async function send(caller: Caller, path: string, init: RequestInit = {}) {
  const { origin, key, tally, signal } = caller
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(origin + path, { signal, ...init, headers })
  tally.requests++
  if (response.ok || response.status === 304) return response
  const text = await response.text()
  if (response.status === 503) tally.refused++
  else tally.faults.push(`${response.status} ${path} ${text}`)
  return undefined
}

const coinOf = (round: number): string => coins[round % coins.length] ?? 'btc'

async function findMarkets(caller: Caller, coin: string): Promise<string[]> {
  const response = await send(caller, `/v1/${coin}/markets?limit=20`)
  if (response === undefined) return []
  const { data } = (await response.json()) as { data: { conditionId: string }[] }
  return data.map(({ conditionId }) => `/v1/${coin}/markets/${conditionId}`)
}

/** Pages of all kinds of a market in turn. */
function createPager(caller: Caller): Act {
  const tags = new Map<string, string>()
  async function read(path: string): Promise<void> {
    const tag = tags.get(path)
    const headers = tag === undefined ? {} : { 'if-none-match': tag }
    const response = await send(caller, path, { headers })
    const found = response?.headers.get('etag')
    if (found && tags.size < TAGS_MAX) tags.set(path, found)
    caller.tally.bytes += (await response?.arrayBuffer())?.byteLength ?? 0
  }
  return async (round) => {
    const coin = coinOf(round)
    const markets = await findMarkets(caller, coin)
    const own = markets[round % Math.max(1, markets.length)]
    if (own === undefined) return
    for (const path of [
      `${own}/snapshots?limit=1000`,
      `${own}/snapshots?limit=100&depth=10&order=desc`,
      `${own}/quotes?limit=1000`,
      `${own}/prices?interval=10s`,
      `${own}/trades?limit=100`,
      `${own}/coverage`,
      `/v1/${coin}/panel?timeframe=5m&offsets=-240s,-5s&limit=20`,
      '/v1/billing/tiers',
    ])
      await read(path)
  }
}

/** A market in each format in turn; every other time it is left in its middle. */
async function takeExport(caller: Caller, round: number): Promise<void> {
  const [own] = await findMarkets(caller, coinOf(round))
  if (own === undefined) return
  const format = ['ndjson', 'csv', 'parquet'][round % 3]
  const response = await send(caller, `${own}/export?format=${format}`)
  for await (const piece of response?.body ?? []) {
    caller.tally.bytes += piece.length
    if (round % 6 >= 3) return
  }
}

/** Uses another key from now on, with which the one before is revoked. */
async function replaceKey(caller: Caller): Promise<void> {
  const keys = await send(caller, '/v1/keys')
  if (keys === undefined) return
  const { data } = (await keys.json()) as { data: { id: string; isCurrent: boolean }[] }
  const id = data.find(({ isCurrent }) => isCurrent)?.id
  const init = {
    method: 'POST',
    body: JSON.stringify({ overlapSeconds: 600 }),
    headers: { 'content-type': 'application/json' },
  }
  const rotated = await send(caller, `/v1/keys/${id}/rotate`, init)
  if (rotated === undefined) return
  caller.key = ((await rotated.json()) as { key: string }).key
  // Whoever has begun to send with it may end; streams notice and come again.
  await Bun.sleep(KEY_MS)
  await send(caller, `/v1/keys/${id}`, { method: 'DELETE' })
}

const kindOf = (round: number): string => (round % 2 === 0 ? 'quotes' : 'snapshots')
/** Between a second and the most, so that connections come and go all the time. */
const streamMs = (round: number): number => 1000 + ((round * 3701) % (STREAM_MS_MAX - 1000))

async function followEvents(caller: Caller, round: number): Promise<void> {
  const signal = AbortSignal.any([caller.signal, AbortSignal.timeout(streamMs(round))])
  const path = `/v1/${coinOf(round)}/live?channel=${kindOf(round)}`
  try {
    const response = await send(caller, path, { signal })
    for await (const piece of response?.body ?? []) caller.tally.bytes += piece.length
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function followSocket({ origin, key, tally, signal }: Caller, round: number) {
  const headers = { authorization: `Bearer ${key}` }
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, { headers })
  const closed = new Promise<CloseEvent>((resolve) => {
    socket.onclose = resolve
  })
  socket.onmessage = ({ data }) => {
    const text = String(data)
    if (text.startsWith('{"type":"row"')) tally.rows++
    else if (text.startsWith('{"type":"error"')) tally.faults.push(text)
  }
  socket.onopen = () => {
    const wish = { op: 'subscribe', id: 'all', channel: kindOf(round), coin: coinOf(round) }
    socket.send(JSON.stringify(wish))
  }
  const over = new Promise<undefined>((resolve) => {
    const enough = AbortSignal.any([signal, AbortSignal.timeout(streamMs(round))])
    enough.addEventListener('abort', () => resolve(undefined))
  })
  const early = await Promise.race([closed, over])
  // The key with which it began may have been revoked.
  if (early && early.code !== REVOKED && !signal.aborted)
    tally.faults.push(`A socket was closed with ${early.code} ${early.reason}`)
  socket.close()
  await closed
}
