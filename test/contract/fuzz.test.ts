/**
 * Requests drawn from the OpenAPI document: of each parameter and member of a body what is valid, at a
 * bound, of another type, foreign or huge, and some that it does not have. Whatever is sent, the answer
 * is documented, whole, silent about the inside, and the same again wherever that is promised.
 */
import { describe, expect, test } from 'bun:test'

import fc, { type Arbitrary } from 'fast-check'

import { readConfig } from '#src/config.ts'

import { type Draft, draftsOf } from '../support/body-drafts.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import {
  type Entry,
  expectDocumented,
  type Parameter,
  readDocument,
} from '../support/openapi-document.ts'
import { exampleOf, idFor, requiredQueryOf } from '../support/operation-requests.ts'
import { createSigner } from '../support/signup-client.ts'
import { stableHeaders } from '../support/stable-headers.ts'

const RUNS = 150
const SIGNUPS = 40

const { history, both, edge, empty, open, single } = createMarketHistory()
const config = readConfig({
  BOOKFEED_KEYS_PER_ACCOUNT: '1000',
  BOOKFEED_SIGNUPS_PER_DAY: '1000000',
})
const server = createHarness({ history, config, billing: fakeBilling() })
const { send } = server
const { document, entries } = await readDocument(send)
const signups = await Promise.all(
  Array.from({ length: SIGNUPS }, () => createSigner(send).signed()),
)
const known = [both, edge, empty, open, single]

/** A pair of a query, ready to be sent; undefined for none. */
type Pair = string | undefined
type Call = {
  path: string
  query: string
  headers: Record<string, string>
  name: string | undefined
  body: Draft | undefined
}

/** Half of a surrogate pair has no percent-encoding. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

const wrongTypes = ['', 'null', 'true', '[]', '{}', '1.5', '-1', '1e3', '0x10', ' 1', '٣', '1,2']
const strange = [
  '\u0000',
  '\r\nX-Evil: 1',
  '💩',
  '\u202e',
  '../..',
  "'; --",
  '{{7*7}}',
  '%',
  '\\',
  '"',
]
const malformed = ['%', '%zz', '%C3', '%00', '%ED%A0%80', '%%', '+', '%2525']

const foreign: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...wrongTypes, ...strange).map(encode),
  fc.constantFrom(...malformed),
  fc.string({ unit: 'binary', maxLength: 12 }).map(encode),
  fc.integer({ min: 100, max: 5000 }).map((length) => 'a'.repeat(length)),
  fc.integer({ min: 10, max: 400 }).map((length) => '9'.repeat(length)),
)

const realCursors = await Promise.all(
  known.map(
    async ({ path }) => (await send(`${path}?limit=1`)).headers.get('x-resume-cursor') ?? '',
  ),
)

/** What the schema of a query parameter allows, with its bounds and what lies next to them. */
function valuesOf({ name, schema }: Parameter): Arbitrary<string> {
  if (name === 'cursor') return fc.constantFrom(...realCursors, 'x')
  if (schema.enum) return fc.constantFrom(...schema.enum.map(String))
  if (schema.format === 'decimal') return fc.constantFrom('0', '0.000001', '0.5', '1', '10000.5')
  if (schema.type !== 'integer') return fc.string({ minLength: schema.minLength ?? 0 }).map(encode)
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
  const near = [minimum, minimum + 1, maximum - 1, maximum, minimum - 1, maximum + 1]
  const times = both.rows.slice(0, 3).map(({ timestampMs }) => timestampMs)
  const bounds = fc.constantFrom(...near, ...times, 99_999_999_999, 100_000_000_000)
  return fc.oneof(bounds, fc.integer({ min: minimum, max: maximum })).map(String)
}

const pairOf = (parameter: Parameter): Arbitrary<Pair> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 5, arbitrary: valuesOf(parameter).map((value) => `${parameter.name}=${value}`) },
    { weight: 1, arbitrary: foreign.map((value) => `${parameter.name}=${value}`) },
    { weight: 1, arbitrary: fc.constant(parameter.name) },
  )

const extraPair: Arbitrary<Pair> = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.tuple(foreign, foreign).map((pair) => pair.join('=')) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__=1', 'limit=1&limit=1', '&', '=', 'a[b]=c') },
)

const headers = fc.record(
  {
    'accept-encoding': fc.constantFrom('gzip', 'identity', '*;q=0', 'gzip;q=nonsense', ';;,'),
    'if-none-match': fc.constantFrom('*', '""', 'W/"x"', '"', ',,,'),
    accept: fc.constantFrom('*/*', 'text/html', 'image/png', ';'),
  },
  { requiredKeys: [] },
)

// Dots alone would be taken as steps in the path by the address itself.
const segment = foreign.filter((text) => text !== '' && !/^(\.|%2e)+$/i.test(text))

/** The path with known values, or with one of its parameters foreign; `{id}` is put in when it is sent. */
function pathsOf({ path }: Entry): Arbitrary<string> {
  const fillMarket = (template: string, { coin, conditionId }: (typeof known)[number]) =>
    template.replace('{coin}', coin).replace('{conditionId}', conditionId)
  const valid = fc.constantFrom(...known).map((market) => fillMarket(path, market))
  const names = path.match(/\{\w+\}/g)
  if (names === null) return valid
  const hurt = fc.tuple(fc.constantFrom(...names), segment, fc.constantFrom(...known))
  const broken = hurt.map(([name, text, market]) =>
    fillMarket(
      path.replace(name, () => text),
      market,
    ),
  )
  return fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: broken })
}

const notOf = (max: number) => fc.constantFrom('', ' ', 'a b', 'é', 'a'.repeat(max + 1))
const someName = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.integer({ min: 0 }).map((index) => `name-${index}`) },
  { weight: 1, arbitrary: fc.constantFrom('one', 'two', 'a'.repeat(255), '!~') },
  { weight: 1, arbitrary: notOf(255) },
)

function bodiesOf(entry: Entry): Arbitrary<Draft | undefined> {
  if (entry.method === 'GET') return fc.constant(undefined)
  const samples = entry.operationId === 'createKey' ? signups : [exampleOf(entry)]
  const body = entry.requestBody ?? noBody
  return fc.option(draftsOf(body, samples), { nil: undefined, freq: 8 })
}

/** What is sent to an operation that reads none. */
const noBody = { required: false, content: { 'application/json': { schema: {}, example: {} } } }

const nameOf = (pair: string): string => pair.split('=')[0] ?? ''

/** Half of the calls have what is required in their query, and whatever else is drawn. */
function callsOf(entry: Entry): Arbitrary<Call> {
  const inQuery = (entry.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const pairs = fc.tuple(...inQuery.map(pairOf), extraPair)
  return fc.record({
    path: pathsOf(entry),
    query: fc.tuple(fc.boolean(), pairs).map(([isSound, all]) => {
      const sound = isSound ? requiredQueryOf(entry).split('&').filter(Boolean) : []
      const given = new Set(sound.map(nameOf))
      const drawn = all.filter((pair) => pair !== undefined && !given.has(nameOf(pair)))
      return [...sound, ...drawn].join('&')
    }),
    headers,
    name: someName,
    body: bodiesOf(entry),
  })
}

/** Stacks, paths of files, SQL and the names of what we are built from. */
const inside =
  /\n\s+at |node_modules|\/work\/|\/src\/|\.ts:\d|sqlite|SELECT |INSERT |\bElysia\b|TypeError/

/** Makes a call ready to be sent, twice. */
function toRequest(entry: Entry, { path, query, headers: more, name, body }: Call) {
  const sent = new Headers({ ...more, 'x-request-id': 'fuzz' })
  if (name !== undefined) sent.set('idempotency-key', name)
  if (body?.contentType !== undefined) sent.set('content-type', body.contentType)
  const address = path.replace('{id}', () => idFor(server, entry))
  const init = { method: entry.method, headers: sent, ...(body ? { body: body.bytes } : {}) }
  return { path: query === '' ? address : `${address}?${query}`, init }
}

/** Failures are, and what reads or ends something; what makes something is, under the same name. */
function isRepeatable({ method, operationId, parameters = [] }: Entry, call: Call, status: number) {
  if (status >= 400) return true
  // It tells how often it was asked.
  if (operationId === 'getUsage') return false
  const isNamed = call.name !== undefined && parameters.some((each) => each.in === 'header')
  return method === 'GET' || method === 'DELETE' || isNamed
}

async function expectAlike(again: Response, response: Response, body: Uint8Array): Promise<void> {
  const replayed = ['idempotent-replayed']
  expect(again.status).toBe(response.status)
  expect(await again.bytes()).toEqual(body)
  expect(stableHeaders(again, replayed)).toEqual(stableHeaders(response, replayed))
}

function expectSilent(text: string): void {
  expect(text).not.toMatch(inside)
  expect(text.length).toBeLessThan(1_000)
}

describe('any request drawn from the document', () => {
  for (const entry of entries) {
    const success = Number(Object.keys(entry.responses).find((status) => status.startsWith('2')))
    test(`fuzz: ${entry.method} ${entry.path} answers as documented, twice alike`, async () => {
      const statuses = new Set<number>()
      const property = fc.asyncProperty(callsOf(entry), async (call) => {
        const { path, init } = toRequest(entry, call)
        const response = await send(path, init)
        const { status } = response
        statuses.add(status)
        expect(status).toBeLessThan(500)
        const body = await response.bytes()
        const again = await send(path, init)
        if (isRepeatable(entry, call, status)) await expectAlike(again, response, body)
        if (status >= 400) expectSilent(new TextDecoder().decode(body))
        await expectDocumented(document, entry, inflate(response, body))
      })
      await fc.assert(property, { numRuns: RUNS, seed: 20_260_414 })
      // A draw that is refused each time would prove nothing.
      expect(statuses).toContain(success)
    })
  }
})

/** The response with its body as it was before `Content-Encoding`. */
function inflate({ status, headers: sent }: Response, body: Uint8Array): Response {
  if (status === 304 || status === 204) return new Response(null, { status, headers: sent })
  const isGzip = sent.get('content-encoding') === 'gzip'
  const plain = isGzip ? Bun.gunzipSync(Uint8Array.from(body)) : Uint8Array.from(body)
  return new Response(plain, { status, headers: sent })
}
