import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketFacts } from '#src/domain/market.ts'
import { createTableStore } from '#src/extensions/calibration/store.ts'

import { aCalibration } from '../support/calibration-tables.ts'
import { readConfig } from '../support/config.ts'
import { ACTIVE_ID, fakeBilling, PENDING_ID } from '../support/fake-billing.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'
import {
  type Entry,
  expectDocumented,
  faultsOf,
  readDocument,
  type Schema,
} from '../support/openapi-document.ts'
import {
  addressOf,
  headersInsteadOf,
  isLinked,
  linkOf,
  soundRequest,
} from '../support/operation-requests.ts'
import { readProblem, withParams } from '../support/page-client.ts'
import { stableHeaders } from '../support/stable-headers.ts'

const { history, both, single, open, edge, empty } = await createMarketHistory()
await putTwoOfEachStatus()
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-responses-'))
afterAll(() => rmSync(folder, { recursive: true }))
createTableStore(folder).write(both.coin, [aCalibration({ coin: both.coin, timeframe: '5m' })])
const config = readConfig({
  BOOKFEED_DATA: folder,
  BOOKFEED_KEYS_PER_ACCOUNT: '1000',
  BOOKFEED_SIGNUPS_PER_DAY: '1000000',
  BOOKFEED_KEYLESS: 'on',
})
const server = createHarness({ history, config, billing: fakeBilling() })
/** Reads exports to their end: those that run are counted. */
const send = async (path: string, init?: RequestInit): Promise<Response> => {
  const response = await server.send(path, init)
  if (!response.headers.has('x-export-id') || response.body === null) return response
  return new Response(await response.arrayBuffer(), response)
}
const { document, entries } = await readDocument(send)
const markets = [both, single, open, edge, empty]
const reading = entries.filter(({ method }) => method === 'GET')
const writing = entries.filter(({ method }) => method !== 'GET')

/** Two markets of each status and each result: a list of any of them has a second page. */
async function putTwoOfEachStatus(): Promise<void> {
  const minuteMs = 60_000
  const kinds: [startMs: number, winner?: MarketFacts['winner']][] = [
    [NOW_MS + 10 * minuteMs],
    [NOW_MS - minuteMs],
    [NOW_MS - 10 * minuteMs],
    [NOW_MS - 20 * minuteMs, 'up'],
    [NOW_MS - 30 * minuteMs, 'void'],
  ]
  for (const [index, [windowStartMs, winner]] of [...kinds, ...kinds].entries()) {
    await history.putMarket({
      conditionId: conditionIdOf(String(index)),
      coin: 'eth',
      timeframe: '5m',
      source: 'simulated',
      windowStartMs,
      windowEndMs: windowStartMs + 5 * minuteMs,
      winner,
      winnerSource: winner && 'simulated',
    })
  }
}

/** Every address of a route that has something to show. */
const addressesOf = (entry: Entry): string[] => [
  ...new Set(
    markets.flatMap(({ coin, conditionId }) =>
      [ACTIVE_ID, PENDING_ID].map((id) =>
        addressOf(entry, { coin, conditionId, id, link: linkOf(server, server.key, coin) }),
      ),
    ),
  ),
]

/** True for the answer that of a moment or days nothing is held, or nothing that is new enough. */
async function isOfNothing(response: Response): Promise<boolean> {
  if (response.status !== 404) return false
  const { code } = (await response.clone().json()) as { code: string }
  return code === 'no_snapshot' || code === 'stale' || code === 'unknown_file'
}

const isSuccess = async (response: Response): Promise<boolean> =>
  response.status === 200 || (await isOfNothing(response))

/** The addresses that something is held of; there must be one. */
async function heldAddressesOf(entry: Entry): Promise<string[]> {
  const held: string[] = []
  for (const address of addressesOf(entry)) {
    if (!(await isOfNothing(await send(address)))) held.push(address)
  }
  expect([entry.operationId, held.length > 0]).toEqual([entry.operationId, true])
  return held
}

/** Every single value that a schema tells; `given` is what stands beside it. */
const valuesOf = (schema: Schema, given?: unknown): unknown[] =>
  [
    given,
    schema.example,
    schema.default,
    schema.minimum,
    schema.maximum,
    ...(schema.enum ?? []),
  ].filter((value) => value !== undefined)

/** What a parameter goes with. */
const companions: Record<string, Record<string, string>> = {
  exportMarket: { shape: 'csv', depth: 'csv', kind: 'tardis' },
  exportDay: { shape: 'csv', depth: 'csv' },
}

/** Every single value of a query parameter. */
const variantsOf = ({ operationId, parameters = [] }: Entry): Record<string, string>[] =>
  parameters
    .filter((parameter) => parameter.in === 'query')
    // The day of the example is not one of this history.
    .filter(({ name }) => operationId !== 'getCitation' || name !== 'id')
    .flatMap(({ name, example, schema }) => {
      const format = companions[operationId]?.[name]
      const beside = format === undefined ? {} : { format }
      return valuesOf(schema, example).map((value) => ({ ...beside, [name]: String(value) }))
    })

/** What may be added to a sound body: each optional member with each of its values. */
function additionsOf({ requestBody }: Entry): Record<string, unknown>[] {
  const { required = [], properties = {} } = requestBody?.content['application/json'].schema ?? {}
  return (
    Object.entries(properties)
      // A claim is of one payment: `test/e2e/keyless-keys.test.ts` sends one.
      .filter(([name]) => name !== 'claim' && !required.includes(name))
      .flatMap(([name, schema]) => valuesOf(schema).map((value) => ({ [name]: value })))
  )
}

/** Asks with one encoding and follows the list to its end; yields the responses. */
async function* walk(address: string, params: Record<string, string>) {
  let cursor: string | null = null
  for (let pages = 0; pages < 50; pages++) {
    const place: Record<string, string> = cursor === null ? {} : { cursor }
    const response = await send(withParams(address, { ...params, ...place }))
    const { status, headers } = response
    const text = await response.text()
    yield new Response(text, { status, headers })
    const isJson = /[/+]json\b/.test(headers.get('content-type') ?? '')
    const body = isJson ? (JSON.parse(text) as { nextCursor?: string | null }) : {}
    if (!body.nextCursor) return
    cursor = body.nextCursor
  }
}

/** Asks as browsers, programs and curl do, and for each type there is, the shortest page too. */
async function askAll(entry: Entry, types: readonly string[]): Promise<Response[]> {
  const answers: Response[] = []
  const { parameters = [] } = entry
  for (const address of await heldAddressesOf(entry)) {
    for (const accept of ['text/html', 'application/json', '*/*', ...types]) {
      const headers = { accept, 'accept-encoding': 'gzip', origin: 'https://page.example' }
      answers.push(await send(address, { headers }))
      if (parameters.some(({ name }) => name === 'limit'))
        answers.push(await send(withParams(address, { limit: '1' }), { headers }))
    }
  }
  return answers
}

const isTime = (schema: Schema) => JSON.stringify(schema).includes('"date-time"')
const isReplayable = ({ parameters = [] }: Entry): boolean =>
  parameters.some(({ name }) => name === 'Idempotency-Key')

/** Does it plainly, once with each addition to the body, and again under the same name. */
async function act(entry: Entry): Promise<Response[]> {
  const responses: Response[] = []
  for (const addition of [{}, ...additionsOf(entry)]) {
    const { path, init } = await soundRequest(server, entry, both)
    if (init.body === undefined) return [await send(path, init)]
    const headers = new Headers(init.headers)
    if (isReplayable(entry)) headers.set('idempotency-key', path + JSON.stringify(addition))
    const body = JSON.stringify({ ...JSON.parse(String(init.body)), ...addition })
    const asked = { ...init, headers, body }
    responses.push(await send(path, asked))
    if (isReplayable(entry)) responses.push(await send(path, asked))
  }
  return responses
}

/** Does it once, as a page of another origin that takes compressed answers. */
async function actForGzip(entry: Entry): Promise<Response> {
  const { path, init } = await soundRequest(server, entry, both)
  const headers = new Headers(init.headers)
  headers.set('accept-encoding', 'gzip')
  headers.set('origin', 'https://page.example')
  return send(path, { ...init, headers })
}

/** Of a stream nobody knows the length before its end. */
const toldOf = ({ operationId }: Entry, length: string): Record<string, string> =>
  /^(export|follow)/.test(operationId) ? {} : { 'content-length': length }

/** The one status that is a success of a whole; 202 says that there is none yet. */
function successOf({ operationId, responses }: Entry): number {
  const [status, ...others] = Object.keys(responses).filter(
    (each) => each.startsWith('2') && each !== '202' && each !== '206',
  )
  expect([operationId, others]).toEqual([operationId, []])
  return Number(status)
}

/** Every schema in the document with where it is. */
function* schemasOf(value: unknown, at = ''): Generator<[string, Schema]> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && typeof value.type === 'string') yield [at, value as Schema]
  for (const [key, member] of Object.entries(value)) yield* schemasOf(member, `${at}/${key}`)
}

const RESUME = 'X-Resume-Cursor'

describe('documented answers', () => {
  test('default: every body and header of a walk over every route is as documented', async () => {
    for (const entry of reading) {
      for (const address of addressesOf(entry)) {
        for (const params of [{}, ...variantsOf(entry)]) {
          for await (const response of walk(address, params)) {
            expect([address, params, await isSuccess(response)]).toEqual([address, params, true])
            await expectDocumented(document, entry, response)
          }
        }
      }
    }
  })

  test('default: every operation that does something answers as documented, also a second time', async () => {
    for (const entry of writing) {
      const status = successOf(entry)
      for (const response of await act(entry)) {
        const text = await response.clone().text()
        expect([entry.operationId, response.status, text]).toEqual([
          entry.operationId,
          status,
          expect.any(String),
        ])
        await expectDocumented(document, entry, response)
      }
    }
  })

  test('behavior: a body may be left out where the document does not require it', async () => {
    for (const entry of entries.filter(({ requestBody }) => requestBody !== undefined)) {
      const { path } = await soundRequest(server, entry, both)
      const headers = headersInsteadOf(entry)
      const response = await send(path, { method: entry.method, headers })
      const isAccepted = response.status === successOf(entry)
      expect([entry.operationId, isAccepted]).toEqual([
        entry.operationId,
        entry.requestBody?.required === false,
      ])
      await expectDocumented(document, entry, response)
    }
  })

  test('behavior: every documented header of a success comes with it, and every media type', async () => {
    for (const entry of entries) {
      const answer = entry.responses[successOf(entry)]
      const responses = writing.includes(entry)
        ? [...(await act(entry)), await actForGzip(entry)]
        : await askAll(entry, Object.keys(answer?.content ?? {}))
      const types = responses.map((each) => each.headers.get('content-type')?.split(';')[0])
      const isJson = types.every((type) => type === 'application/json')
      const documented = Object.keys(answer?.headers ?? {})
        .map((name) => name.toLowerCase())
        .filter((name) => !(isJson && name === 'x-content-type-options'))
      // Without x-next-cursor: the history above must hold two rows of the list.
      const missing = documented.filter(
        (name) => !responses.some(({ headers }) => headers.has(name)),
      )
      expect({ operation: entry.operationId, missing }).toEqual({
        operation: entry.operationId,
        missing: [],
      })
      const sent = new Set(types.filter((type) => type !== undefined))
      expect([entry.operationId, ...[...sent].sort()]).toEqual([
        entry.operationId,
        ...Object.keys(answer?.content ?? {}).sort(),
      ])
    }
  })

  test('behavior: 304 is as documented wherever it is', async () => {
    const cached = entries.filter(({ responses }) => '304' in responses)
    expect(cached.length).toBeGreaterThan(0)
    for (const entry of cached) {
      for (const address of await heldAddressesOf(entry)) {
        const response = await send(address, { headers: { 'if-none-match': '*' } })
        expect(response.status).toBe(304)
        await expectDocumented(document, entry, response)
      }
    }
  })

  test('behavior: a 304 has the X-Resume-Cursor of its 200, or the document says which one holds', async () => {
    const followed = entries.filter(({ responses }) => responses[200]?.headers?.[RESUME])
    expect(followed.length).toBeGreaterThan(3)
    for (const entry of followed) {
      const [address = ''] = await heldAddressesOf(entry)
      const { headers } = await send(address)
      const tag = headers.get('etag') ?? ''
      const unchanged = await send(address, { headers: { 'if-none-match': tag } })
      const isSaid = JSON.stringify(entry.responses[200]?.headers?.[RESUME]).includes('on a 304')
      const told = unchanged.headers.get(RESUME)
      expect([address, unchanged.status, told]).toEqual([
        address,
        304,
        isSaid ? null : headers.get(RESUME),
      ])
    }
  })

  test('default: every time parameter takes a date, which is its 00:00 UTC', async () => {
    const place = { coin: both.coin, conditionId: both.conditionId, id: ACTIVE_ID }
    const answerTo = async (address: string) => {
      const response = await send(address)
      const { code, param } = response.ok ? {} : await readProblem(response)
      return [response.status, response.headers.get('etag'), code, param]
    }
    for (const entry of reading) {
      const times = (entry.parameters ?? []).filter(({ schema }) => isTime(schema))
      for (const { name } of times.filter((each) => each.in === 'query')) {
        const withTime = (value: string) => withParams(addressOf(entry, place), { [name]: value })
        const [date, moment] = [withTime('2026-04-14'), withTime('2026-04-14T00:00:00Z')]
        expect([date, ...(await answerTo(date))]).toEqual([date, ...(await answerTo(moment))])
      }
    }
  })

  test('error: no time parameter takes a moment after the year 9999', async () => {
    const place = { coin: both.coin, conditionId: both.conditionId, id: ACTIVE_ID }
    const checked: string[] = []
    for (const entry of reading) {
      const times = (entry.parameters ?? []).filter((each) => each.in === 'query')
      for (const { name } of times.filter(({ schema }) => isTime(schema))) {
        for (const value of ['253402300800000', '8640000086400000', '9007199254740991']) {
          const address = withParams(addressOf(entry, place), { [name]: value })
          const response = await send(address)
          const { code, param } = (await response.json()) as { code?: string; param?: string }
          expect([address, response.status, code, param]).toEqual([
            address,
            400,
            'invalid_parameter',
            name,
          ])
        }
        checked.push(name)
      }
    }
    expect(new Set(checked)).toEqual(new Set(['day', 'from', 'to', 'ts', 'since', 'until']))
  })

  test('behavior: HEAD has the headers of GET on every route', async () => {
    const headers = { 'x-request-id': 'same', 'accept-encoding': 'gzip' }
    for (const entry of reading) {
      for (const address of addressesOf(entry)) {
        const get = await send(address, { headers })
        const head = await send(address, { headers, method: 'HEAD' })
        const told = head.headers.get('content-length') ?? ''
        // What it tells grows by each request, and so may its length.
        const isCounting = entry.operationId === 'getUsage'
        const length = isCounting ? told : String((await get.arrayBuffer()).byteLength)
        expect([head.status, await head.text(), told !== '0']).toEqual([get.status, '', true])
        const expected = { ...stableHeaders(get), ...toldOf(entry, length) }
        expect([address, stableHeaders(head)]).toEqual([address, expected])
      }
    }
  })
})

describe('the document', () => {
  test('behavior: an example is what its schema says', () => {
    for (const [at, schema] of schemasOf(document)) {
      if (!('example' in schema)) continue
      expect([at, ...faultsOf(document, schema, schema.example)]).toEqual([at])
    }
  })

  test('behavior: an example of a parameter or a body is what its schema says', () => {
    for (const { path, parameters = [], requestBody } of entries) {
      const examples = [...parameters, ...Object.values(requestBody?.content ?? {})]
      for (const { example, schema } of examples) {
        if (example === undefined) continue
        expect([path, ...faultsOf(document, schema, example)]).toEqual([path])
      }
    }
  })

  test('behavior: what it shows of data works on the server that serves it, and finds something', async () => {
    const ofData = reading.filter(
      (entry) => entry.path.startsWith('/v1/{coin}') && !isLinked(entry),
    )
    for (const { path, parameters = [] } of ofData) {
      const shown = parameters.map(({ name, example }) => [name, String(example)] as const)
      const known = Object.fromEntries(shown)
      const query = parameters.filter((each) => each.in === 'query' && each.required)
      const asked = query.map(({ name }) => `${name}=${known[name]}`)
      // An order needs an amount, in one of two units.
      if (path.endsWith('/fill')) asked.push('size=1')
      const address = path.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '')
      const response = await send(`${address}?${asked.join('&')}`)
      expect([address, asked, response.status]).toEqual([address, asked, 200])
      if (!/\/(snapshots|quotes|at)$/.test(path)) continue
      const { data } = (await response.json()) as { data: unknown[] }
      expect([address, data.length > 0]).toEqual([address, true])
    }
  })

  // OpenAPI 3.0.3: a nullable enum has null among its values, or null is none of them.
  test('behavior: an enum that may be null says so', () => {
    for (const [at, schema] of schemasOf(document)) {
      if (schema.enum === undefined || schema.nullable !== true) continue
      expect([at, schema.enum]).toEqual([at, expect.arrayContaining([null])])
    }
  })

  test('behavior: path parameters are those of the path, and all are described', () => {
    for (const { path, parameters = [] } of entries) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      expect([path, inPath.map(({ name }) => name)]).toEqual([path, named])
      for (const parameter of parameters) {
        expect([path, parameter]).not.toEqual([path, expect.objectContaining({ description: '' })])
      }
    }
  })
})
