/**
 * Requests drawn from the OpenAPI document: of each parameter what is valid, at a bound, of another
 * type, foreign or huge, and parameters that it does not have. Whatever is sent, the answer is one
 * that is documented, whole, silent about the inside, and the same when it is asked for again.
 */
import { describe, expect, test } from 'bun:test'

import fc, { type Arbitrary } from 'fast-check'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import {
  type Entry,
  expectDocumented,
  type Parameter,
  readDocument,
} from '../support/openapi-document.ts'

const RUNS = 150

const { history, both, edge, empty, open, single } = createMarketHistory()
const { send } = createHarness({ history })
const { document, entries } = await readDocument(send)
const known = [both, edge, empty, open, single]

/** A pair of a query, ready to be sent; undefined for none. */
type Pair = string | undefined
type Call = { path: string; query: string; headers: Record<string, string> }

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

/** The path with known values, or with one of its parameters foreign. */
function pathsOf({ path }: Entry): Arbitrary<string> {
  const valid = fc
    .constantFrom(...known)
    .map(({ coin, conditionId }) =>
      path.replace('{coin}', coin).replace('{conditionId}', conditionId),
    )
  const names = path.match(/\{\w+\}/g)
  if (names === null) return valid
  const hurt = fc.tuple(fc.constantFrom(...names), segment, fc.constantFrom(...known))
  const broken = hurt.map(([name, text, { coin, conditionId }]) =>
    path
      .replace(name, () => text)
      .replace('{coin}', coin)
      .replace('{conditionId}', conditionId),
  )
  return fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: broken })
}

function callsOf(entry: Entry): Arbitrary<Call> {
  const inQuery = (entry.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const pairs = fc.tuple(...inQuery.map(pairOf), extraPair)
  return fc.record({
    path: pathsOf(entry),
    query: pairs.map((all) => all.filter((pair) => pair !== undefined).join('&')),
    headers,
  })
}

/** Stacks, paths of files, SQL and the names of what we are built from. */
const inside =
  /\n\s+at |node_modules|\/work\/|\/src\/|\.ts:\d|sqlite|SELECT |INSERT |\bElysia\b|TypeError/

const ask = ({ path, query, headers: more }: Call) =>
  send(query === '' ? path : `${path}?${query}`, { headers: { ...more, 'x-request-id': 'fuzz' } })

describe('any request drawn from the document', () => {
  for (const entry of entries) {
    test(`fuzz: ${entry.method.toUpperCase()} ${entry.path} answers as documented, twice alike`, async () => {
      const statuses = new Set<number>()
      const property = fc.asyncProperty(callsOf(entry), async (call) => {
        const response = await ask(call)
        statuses.add(response.status)
        expect(response.status).toBeLessThan(500)
        const again = await ask(call)
        const body = await response.clone().bytes()
        expect(await again.bytes()).toEqual(body)
        expect([...again.headers]).toEqual([...response.headers])
        if (response.status >= 400) {
          const text = new TextDecoder().decode(body)
          expect(text).not.toMatch(inside)
          expect(text.length).toBeLessThan(1_000)
        }
        await expectDocumented(document, entry, inflate(response, body))
      })
      await fc.assert(property, { numRuns: RUNS, seed: 20_260_414 })
      // A draw that is refused each time would prove nothing.
      expect(statuses).toContain(200)
    })
  }
})

/** The response with its body as it was before `Content-Encoding`. */
function inflate({ status, headers: sent }: Response, body: Uint8Array): Response {
  if (status === 304) return new Response(null, { status, headers: sent })
  const isGzip = sent.get('content-encoding') === 'gzip'
  const plain = isGzip ? Bun.gunzipSync(Uint8Array.from(body)) : Uint8Array.from(body)
  return new Response(plain, { status, headers: sent })
}
