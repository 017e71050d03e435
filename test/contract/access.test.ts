/**
 * Who may do what, as one matrix: every operation that is served, every kind of caller, every coin.
 * An operation needs a key, and a tier with the route that is its tag in the document; what is for
 * others is written down here. So a new route that is open by mistake fails.
 */
import { describe, expect, test } from 'bun:test'

import { errorCodes } from '#src/domain/errors.ts'
import { tierRoutes } from '#src/domain/selling/tier.ts'

import {
  askCell,
  type CallerFacts,
  type Cell,
  cellsOf,
  createMatrix,
  tierFacts,
} from '../support/access-matrix.ts'
import {
  conditionIdOf,
  createMarketHistory,
  type KnownMarket,
  pathOf,
} from '../support/market-history.ts'
import { type Entry, expectDocumented, readDocument } from '../support/openapi-document.ts'
import { fillPath, isKeyless, isLinked } from '../support/operation-requests.ts'
import { readProblem } from '../support/page-client.ts'
import { stableHeaders } from '../support/stable-headers.ts'

/**
 * Operations that are not for the tiers with the route that is their tag: `open` to everybody, for
 * every valid `key`, or for tiers with the route of this name.
 */
const exceptions: Record<string, string> = {
  listCoins: 'open',
  listIncidents: 'open',
  getSample: 'open',
  exportMarket: 'snapshots',
  exportDay: 'snapshots',
  listFiles: 'snapshots',
  getFile: 'snapshots',
  getLinkedFile: 'open',
  getArchiveSql: 'snapshots',
  listSampleFiles: 'open',
  followMarket: 'snapshots',
  followCoin: 'snapshots',
  followBoard: 'prices',
  listExports: 'key',
  listRevisions: 'markets',
  listManifests: 'open',
  getManifest: 'open',
  getCitation: 'open',
  getWellKnown: 'open',
  createChallenge: 'open',
  createTestKey: 'open',
  createKey: 'open',
  listKeys: 'key',
  rotateKey: 'key',
  labelKey: 'key',
  revokeKey: 'key',
  getUsage: 'key',
  listTiers: 'open',
  listChains: 'open',
  listPacks: 'open',
  buyPack: 'open',
  buyTier: 'open',
  listResources: 'open',
  createQuote: 'key',
  settlePayment: 'key',
  getPayment: 'key',
  listPayments: 'key',
  getSubscription: 'key',
  getHealth: 'open',
  getReadiness: 'open',
  getErrors: 'open',
  getLlmsText: 'open',
  getStreamDocument: 'open',
}

const WINDOW_MS = 60_000
const { history, both, single, edge, empty } = await createMarketHistory()
const marketOf: Record<string, KnownMarket> = {
  btc: both,
  eth: single,
  sol: await addSol(),
  xrp: edge,
}
const matrix = createMatrix({ history })
const { document, entries } = await readDocument(matrix.send)
const dataEntries = entries.filter((entry) => !['open', 'key'].includes(accessOf(entry)))
const named = entries.map((entry) => [entry.operationId, entry] as const)

/** A market of the coin whose other one holds nothing that could be asked for. */
async function addSol(): Promise<KnownMarket> {
  const conditionId = conditionIdOf('f')
  const rows = edge.rows.map((row) => ({ ...row, coin: 'sol' as const, conditionId }))
  await history.append({ id: conditionId, source: 'recorded', snapshots: rows })
  return { coin: 'sol', conditionId, path: pathOf('sol', conditionId), rows }
}

function accessOf({ operationId, tags }: Entry): string {
  const access = exceptions[operationId] ?? tierRoutes.find((route) => route === tags?.[0])
  if (access === undefined) throw new Error(`Decide in this test whom ${operationId} is for.`)
  return access
}

function factsOf({ tier }: CallerFacts) {
  const facts = tierFacts[tier]
  if (facts === undefined) throw new Error(`${tier} is no tier.`)
  return facts
}

/** The refusal that a cell must get; undefined for a success. */
type Refusal = { code: keyof typeof errorCodes; requiredTier?: string; says?: string[] }

function refusalOf({ entry, caller, coin }: Cell): Refusal | undefined {
  const access = accessOf(entry)
  if (access === 'open') return undefined
  if (caller.standing === 'stranger') {
    return { code: 'unauthenticated', says: ['Authorization: Bearer', 'POST /v1/keys/challenge'] }
  }
  if (caller.standing === 'blocked') return { code: 'sanctioned' }
  return access === 'key' ? undefined : refusalByTier(access, coin, factsOf(caller))
}

function refusalByTier(
  route: string,
  coin: string,
  { name, coins, routes }: ReturnType<typeof factsOf>,
): Refusal | undefined {
  const known = coin in marketOf
  const enough = Object.entries(tierFacts).filter(
    ([, tier]) => tier.routes.includes(route) && (!known || tier.coins.includes(coin)),
  )
  const names = enough.map(([, tier]) => tier.name).join(', ')
  const requiredTier = enough[0]?.[0] ?? ''
  const says = [`The ${name} tier`, `These do: ${names}.`, 'GET /v1/billing/tiers']
  if (!routes.includes(route)) return { code: 'tier_route', requiredTier, says: [...says, route] }
  if (!known) return { code: 'unknown_coin', says: [coin] }
  if (coins.includes(coin)) return undefined
  return { code: 'tier_coin', requiredTier, says: [...says, `not ${coin}.`] }
}

function expectHeaders({ entry, caller }: Cell, { status, headers }: Response): void {
  const { limit } = factsOf(caller)
  const remaining = entry.path.startsWith('/v1/') ? limit - 1 : limit
  const isRefused = status >= 400
  expect({
    limit: headers.get('x-ratelimit-limit'),
    remaining: headers.get('x-ratelimit-remaining'),
    reset: headers.get('x-ratelimit-reset'),
    rate: headers.get('ratelimit'),
    policy: headers.get('ratelimit-policy'),
    retryAfter: headers.get('retry-after'),
    authenticate: headers.get('www-authenticate'),
    origin: headers.get('access-control-allow-origin'),
    sniffing: headers.get('x-content-type-options'),
  }).toEqual({
    limit: `${limit}`,
    remaining: `${remaining}`,
    reset: `${Math.ceil((matrix.time.nowMs + WINDOW_MS) / 1000)}`,
    rate: `"minute";r=${remaining};t=60`,
    policy: isRefused ? `"minute";q=${limit};w=60` : null,
    retryAfter: null,
    authenticate: status === 401 ? 'Bearer' : null,
    origin: '*',
    sniffing: headers.get('content-type') === 'application/json' ? null : 'nosniff',
  })
  expect(headers.get('access-control-expose-headers')).toContain('X-RateLimit-Remaining')
  expect(headers.get('x-request-id')).toMatch(/^req_minted\d+$/)
  const isForOne = accessOf(entry) !== 'open'
  if (isRefused) expect(headers.get('cache-control')).toBe('no-store')
  else if (isForOne) expect(headers.get('cache-control')).toMatch(/^no-store$|^private, /)
}

async function expectCell(cell: Cell, response: Response): Promise<void> {
  const { entry, method } = cell
  const refusal = refusalOf(cell)
  const status = refusal ? errorCodes[refusal.code].status : undefined
  expect(response.status < 300 ? undefined : response.status).toBe(status)
  expectHeaders(cell, response)
  if (method === 'HEAD') return expect(await response.text()).toBe('')
  const text = await response.text()
  const copy = () => new Response(text === '' ? null : text, response)
  await expectDocumented(document, entry, copy())
  if (refusal === undefined) return
  const { code, requiredTier, detail } = await readProblem(copy())
  expect([code, requiredTier]).toEqual([refusal.code, refusal.requiredTier])
  for (const part of refusal.says ?? []) expect(detail).toContain(part)
}

/** Asks, and names the cell that a fault is in. */
async function checkCell(cell: Cell): Promise<void> {
  const { entry, caller, coin, method } = cell
  const response = await askCell(matrix, cell, marketOf[coin] ?? both)
  try {
    await expectCell(cell, response)
  } catch (cause) {
    const place = [method, entry.path, caller.kind, coin].join(' ')
    throw new Error(`${place}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

describe('the matrix', () => {
  test('default: there is a decision for every operation, and none for what is gone', () => {
    const served = entries.map(({ operationId }) => operationId)
    expect(served).toEqual(expect.arrayContaining(Object.keys(exceptions)))
    for (const entry of entries) accessOf(entry)
  })

  test('default: the document says of each operation whether it needs a key', () => {
    for (const entry of entries) {
      const needs = accessOf(entry) === 'open' ? [] : [{ apiKey: [] }]
      const { operationId, security = document.security } = entry
      expect([operationId, security]).toEqual([operationId, needs])
    }
  })

  test('default: the catalogue is the one that is written down', async () => {
    const listed = (await (await matrix.send('/v1/billing/tiers')).json()) as { id: string }[]
    expect(listed).toMatchObject(
      Object.entries(tierFacts).map(([id, { name, limit, coins, routes }]) => ({
        id,
        name,
        coins,
        routes,
        requestsPerMinute: limit,
      })),
    )
  })

  // What is sold without a key has a server of its own: test/e2e/keyless.test.ts.
  // A link says itself whose it is: test/extensions/day-files/links.test.ts.
  test.each(named.filter(([, entry]) => !isKeyless(entry) && !isLinked(entry)))(
    'default: %s answers every caller as decided, for every coin',
    async (_name, entry) => {
      for (const cell of cellsOf(matrix, entry, Object.keys(marketOf))) await checkCell(cell)
    },
  )

  test.each(dataEntries.map((entry) => [entry.operationId, entry] as const))(
    'behavior: %s tells of an unknown coin only whom the route is for',
    async (_name, entry) => {
      for (const cell of cellsOf(matrix, entry, ['nocoin'])) await checkCell(cell)
    },
  )

  test('behavior: the case of a coin changes nothing', async () => {
    for (const entry of dataEntries) {
      for (const cell of cellsOf(matrix, entry, Object.keys(marketOf))) {
        const market = marketOf[cell.coin] ?? both
        const lower = await askCell(matrix, cell, market)
        const shouted = { ...cell, coin: cell.coin.toUpperCase() }
        const upper = await askCell(matrix, shouted, market)
        expect(upper.status).toBe(lower.status)
      }
    }
  })

  test('behavior: who has no right is not told of what else is wrong, nor that nothing changed', async () => {
    for (const cell of dataEntries.flatMap((entry) => cellsOf(matrix, entry, ['sol']))) {
      const refusal = refusalOf(cell)
      if (refusal === undefined) continue
      const place = { coin: 'sol', conditionId: empty.conditionId, id: 'none' }
      const path = fillPath(cell.entry.path, place)
      for (const query of ['', '?limit=0', '?cursor=x', '?unheard=1']) {
        matrix.advance(WINDOW_MS)
        const init = { method: cell.method, headers: { 'if-none-match': '*' } }
        const { status } = await matrix.sendAs(cell.caller.token, path + query, init)
        expect(status).toBe(errorCodes[refusal.code].status)
      }
    }
  })
})

describe('a market that the caller has no right to', () => {
  const ids = [both.conditionId, conditionIdOf('0'), '0x0', 'x', '%00', '%27%3B--', 'a'.repeat(500)]
  const inMarket = dataEntries.filter(({ path }) => path.includes('{conditionId}'))
  // Nobody but the tiers without the route or the coin, and who has no tier at all.
  const outside = createMatrix({ history })
  const hidden = (entry: Entry, coin: string) =>
    cellsOf(outside, entry, [coin]).filter((cell) => refusalOf(cell) !== undefined)

  test('default: is answered alike whether it is there, unknown or no market at all', async () => {
    let compared = 0
    for (const [coin, market] of Object.entries(marketOf)) {
      for (const { entry, caller, method } of inMarket.flatMap((each) => hidden(each, coin))) {
        const answers = new Set<string>()
        for (const conditionId of [market.conditionId, ...ids]) {
          outside.advance(WINDOW_MS)
          const headers = { 'x-request-id': 'same' }
          const path = fillPath(entry.path, { coin, conditionId })
          const response = await outside.sendAs(caller.token, path, { method, headers })
          const { status } = response
          const told = stableHeaders(response, ['x-ratelimit-reset'])
          answers.add(JSON.stringify([status, told, await response.text()]))
          compared++
        }
        expect([...answers]).toEqual([expect.stringContaining('"x-request-id":"same"')])
      }
    }
    expect(compared).toBeGreaterThan(500)
  })
})
