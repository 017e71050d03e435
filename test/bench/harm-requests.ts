/** What the bench of harm sends: every route, in the shapes that cost the most. */
import { DAY } from './dataset.ts'

export type HarmRequest = {
  name: string
  method: string
  path: string
  headers?: string
  body?: string
  /** True of one without a key. */
  isAnonymous?: boolean
  /** True of one with a key that pays nothing. */
  isFree?: boolean
  /** How many clients send it, if not as many as of the others. */
  clients?: string
}

/** What is sent at the same time. */
export type Harm = { name: string; requests: readonly HarmRequest[] }

type Places = {
  conditionId: string
  windowStartMs: number
  conditionIds: readonly string[]
  /** The market of the sample. */
  sampleId: string
}

const DEEP = 32_700
const LONG = 15_000
const MOMENTS = 500

const get = (name: string, path: string, headers = ''): HarmRequest => ({
  name,
  method: 'GET',
  path,
  headers,
})
const post = (name: string, path: string, body: string): HarmRequest => ({
  name,
  method: 'POST',
  path,
  body,
})

/** `conditionId` is a market of an hour; `conditionIds` are many of five minutes. */
export const harms = (places: Places): Harm[] => [
  ...floods(places),
  ...[...dear(places), ...batches(places), ...agents, ...odd(places)].map((request) => ({
    name: request.name,
    requests: [request],
  })),
]

/** Requests that are sound, and as large as they may be. */
function dear({ conditionId, windowStartMs }: Places): HarmRequest[] {
  const market = `/v1/btc/markets/${conditionId}`
  const at = windowStartMs + 1_800_000
  const identity = 'Accept-Encoding: identity\r\n'
  return [
    get('markets?limit=1000', '/v1/btc/markets?limit=1000'),
    get('markets?limit=1000&order=asc', '/v1/btc/markets?limit=1000&order=asc'),
    get('one market', market),
    get('markets?limit=1000, Parquet', '/v1/btc/markets?limit=1000&format=parquet'),
    get('markets?limit=1000, CSV', '/v1/btc/markets?limit=1000&format=csv'),
    get('revisions?limit=1000', '/v1/revisions?limit=1000'),
    get('trades?limit=10000', `${market}/trades?limit=10000`),
    get('trades?limit=10000&order=desc', `${market}/trades?limit=10000&order=desc`),
    get('trades?limit=10000, Parquet', `${market}/trades?limit=10000&format=parquet`),
    get('quotes?limit=10000, Parquet', `${market}/quotes?limit=10000&format=parquet`),
    get('heatmap', `${market}/heatmap`),
    get('heatmap?include=removed', `${market}/heatmap?include=removed`),
    get('spot?limit=10000', '/v1/btc/spot?limit=10000'),
    get('files', '/v1/btc/files'),
    get('manifests', '/v1/manifests?limit=100'),
    get('prices now', '/v1/btc/prices'),
    get('coverage of a market', `${market}/coverage`),
    get('coverage of 31 days', '/v1/btc/coverage?from=1775000000&to=1777000000'),
    get('snapshots?limit=1000', `${market}/snapshots?limit=1000`),
    get('snapshots?limit=1000, identity', `${market}/snapshots?limit=1000`, identity),
    get('snapshots?limit=1000&outcome=up', `${market}/snapshots?limit=1000&outcome=up`),
    get('snapshots?limit=1000&order=desc', `${market}/snapshots?limit=1000&order=desc`),
    get('snapshots?limit=1000&interval=1s', `${market}/snapshots?limit=1000&interval=1s`),
    get('snapshots?limit=1000&interval=1m', `${market}/snapshots?limit=1000&interval=1m`),
    get('snapshots?limit=1000&depth=100', `${market}/snapshots?limit=1000&depth=100`),
    get(
      'snapshots?limit=1000&view=consolidated',
      `${market}/snapshots?limit=1000&view=consolidated`,
    ),
    get('at', `${market}/snapshots/at?ts=${at}`),
    get('fill', `${market}/fill?ts=${at}&outcome=up&side=buy&size=9000000000`),
    get('quotes?limit=10000', `${market}/quotes?limit=10000`),
    get('quotes?limit=10000&order=desc', `${market}/quotes?limit=10000&order=desc`),
    get('quotes?limit=10000&interval=1s', `${market}/quotes?limit=10000&interval=1s`),
    get('prices?limit=10000', `${market}/prices?limit=10000`),
    get('prices?limit=10000&order=desc', `${market}/prices?limit=10000&order=desc`),
    get('prices?limit=10000&interval=1s', `${market}/prices?limit=10000&interval=1s`),
    get('panel', '/v1/btc/panel?timeframe=5m&offsets=-299s,-298s,-295s,-290s&limit=500'),
    get('export of a market, gzip', `${market}/export`),
    get('export of a market, identity', `${market}/export`, identity),
    get('export of a market, CSV', `${market}/export?format=csv`),
    get('export of a market, Parquet', `${market}/export?format=parquet`),
    get('export of a day', `/v1/btc/export?day=${DAY.date}`),
    { ...get('HEAD of a day export', `/v1/btc/export?day=${DAY.date}`), method: 'HEAD' },
    { ...get('HEAD of markets', '/v1/btc/markets?limit=1000'), method: 'HEAD' },
    get('304 of a day export', `/v1/btc/export?day=${DAY.date}`, 'If-None-Match: *\r\n'),
    get('304 of markets', '/v1/btc/markets?limit=1000', 'If-None-Match: *\r\n'),
    get('304 with a long list', market, `If-None-Match: ${'"a", '.repeat(LONG / 5)}"b"\r\n`),
  ]
}

function batches({ conditionIds, windowStartMs }: Places): HarmRequest[] {
  const at = windowStartMs + 1_800_000
  const moments = (view: string) =>
    JSON.stringify({
      requests: Array.from({ length: MOMENTS }, (_, index) => ({
        conditionId: conditionIds[index % conditionIds.length],
        outcome: index % 2 === 0 ? 'up' : 'down',
        ts: at,
      })),
      view,
    })
  return [
    post('500 moments', '/v1/btc/snapshots/at', moments('own')),
    post('500 moments, consolidated', '/v1/btc/snapshots/at', moments('consolidated')),
  ]
}

/** The address of a client, which `harm-client.ts` fills in. */
export const CLIENT = '{client}'

const GUESTS = '150'
/** Many addresses that read the sample: all but some are refused. */
const asGuests = (path: string): HarmRequest => ({
  ...get('guests', path, `Authorization: Bearer sample\r\nX-Forwarded-For: ${CLIENT}\r\n`),
  isAnonymous: true,
  clients: GUESTS,
})
const asFree = (path: string): HarmRequest => ({ ...get('free', path), isFree: true })

/** Guests and free clients at the same time, who read what is short, what is long, and both. */
function floods({ conditionId, sampleId }: Places): Harm[] {
  const short = 'snapshots?limit=100'
  const long = 'snapshots?limit=1000&interval=1s'
  const guests = (query: string) => asGuests(`/v1/btc/markets/${sampleId}/${query}`)
  const free = (query: string) => asFree(`/v1/btc/markets/${conditionId}/${query}`)
  return [
    { name: `${long} by ${GUESTS} guests`, requests: [guests(long)] },
    { name: `${GUESTS} guests and free clients, short`, requests: [guests(short), free(short)] },
    { name: `${GUESTS} guests and free clients, long`, requests: [guests(long), free(long)] },
    {
      name: `${GUESTS} guests and free clients, short and long`,
      requests: [guests(short), guests(long), free(short), free(long)],
    },
    {
      name: `${GUESTS} free clients, short`,
      requests: [{ ...free(short), clients: GUESTS }],
    },
  ]
}

/** A message of MCP, without a key. */
const mcp = (name: string, message: object): HarmRequest => ({
  ...post(name, '/mcp', JSON.stringify(message)),
  headers: 'Accept: application/json, text/event-stream\r\n',
  isAnonymous: true,
})
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const agents = [
  mcp('tools/list, anonymous', list),
  mcp(
    'ten tools/list in a batch, anonymous',
    Array.from({ length: 10 }, (_, id) => ({ ...list, id })),
  ),
  mcp('ping, anonymous', { jsonrpc: '2.0', id: 1, method: 'ping' }),
]

/** What is refused or answered with little, and what lies outside the data. */
function odd({ conditionId }: Places): HarmRequest[] {
  const market = `/v1/btc/markets/${conditionId}`
  const deep = '['.repeat(DEEP) + ']'.repeat(DEEP)
  return [
    post('deep body, challenge', '/v1/keys/challenge', `{"address":${deep}}`.slice(0, 65_500)),
    post('deep body, moments', '/v1/btc/snapshots/at', `{"requests":${deep}}`),
    post('deep body, sound JSON', '/v1/keys/challenge', `{"address":${deep}}`),
    post('body of texts', '/v1/keys/challenge', `{"address":[${'"",'.repeat(21_000)}""]}`),
    post(
      'body of members',
      '/v1/keys/challenge',
      `{${Array.from({ length: 5_000 }, (_, n) => `"${n}":1`).join()}}`,
    ),
    get('long query', `${market}/snapshots?limit=${'%25'.repeat(LONG / 3)}`),
    get('long unknown parameter', `${market}/snapshots?${'%41'.repeat(LONG / 3)}=1`),
    get('many empty parameters', `${market}/snapshots?${'&'.repeat(LONG)}`),
    get('long cursor', `${market}/snapshots?cursor=${'A'.repeat(LONG)}`),
    get('long path', `/${'%41'.repeat(LONG / 3)}`),
    get(
      'long accept',
      `${market}/export`,
      `Accept: ${'a/b;q=0.1,'.repeat(LONG / 10)}*/*\r\nIf-None-Match: *\r\n`,
    ),
    get('long accept-encoding', market, `Accept-Encoding: ${'a;q=0.1,'.repeat(LONG / 8)}gzip\r\n`),
    get(
      'many headers',
      market,
      Array.from({ length: 90 }, (_, n) => `X-A${n}: ${'b'.repeat(100)}\r\n`).join(''),
    ),
    get('API document', '/swagger/json'),
    get('swagger page', '/swagger'),
    get('tiers', '/v1/billing/tiers'),
    get('usage', '/v1/usage'),
    get('coins', '/v1/coins'),
  ]
}
