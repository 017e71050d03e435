/** Requests drawn from the OpenAPI document: valid, at a bound, of another type, foreign, huge. */
import fc, { type Arbitrary } from 'fast-check'

import { type Draft, draftsOf } from './body-drafts.ts'
import type { Entry, Parameter } from './openapi-document.ts'
import { exampleOf, isKeyless, paymentHeader, requiredQueryOf } from './operation-requests.ts'

/** An encoded pair of a query; undefined for none. */
type Pair = string | undefined
export type Call = {
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

/** Data that requests can refer to. */
export type Ground = {
  markets: readonly { coin: string; conditionId: string }[]
  cursors: readonly string[]
  timesMs: readonly number[]
  /** Bodies that sign up. */
  signups: readonly Record<string, unknown>[]
}

/**
 * Values that the schema of a query parameter allows, including its bounds, and their neighbours.
 */
function valuesOf(ground: Ground, { name, schema: given }: Parameter): Arbitrary<string> {
  const { cursors, timesMs } = ground
  const [schema = given, ...others] = given.anyOf ?? []
  if (name === 'cursor') return fc.constantFrom(...cursors, 'x')
  if (schema.enum) return fc.constantFrom(...schema.enum.map(String))
  if (schema.format === 'decimal') return fc.constantFrom('0', '0.000001', '0.5', '1', '10000.5')
  if (schema.type === 'boolean') return fc.constantFrom('true', 'false')
  if (schema.type !== 'integer') return fc.string({ minLength: schema.minLength ?? 0 }).map(encode)
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
  const near = [minimum, minimum + 1, maximum - 1, maximum, minimum - 1, maximum + 1]
  const bounds = fc.constantFrom(...near, ...timesMs, 99_999_999_999, 100_000_000_000)
  const numbers = fc.oneof(bounds, fc.integer({ min: minimum, max: maximum })).map(String)
  if (others.length === 0) return numbers
  const texts = fc.constantFrom(...timesMs).map((timeMs) => new Date(timeMs).toISOString())
  return fc.oneof(numbers, texts)
}

const pairOf = (ground: Ground, parameter: Parameter): Arbitrary<Pair> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    {
      weight: 5,
      arbitrary: valuesOf(ground, parameter).map((value) => `${parameter.name}=${value}`),
    },
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

const payments = fc.constantFrom(paymentHeader, {}, { 'payment-signature': 'e30=' })

// URL parsing would treat dots alone as steps in the path.
const segment = foreign.filter((text) => text !== '' && !/^(\.|%2e)+$/i.test(text))

/**
 * The path with known values, or with a foreign value for one parameter; `{id}` is replaced when it
 * is sent.
 */
function pathsOf({ markets }: Ground, { path }: Entry): Arbitrary<string> {
  const fillMarket = (template: string, { coin, conditionId }: Ground['markets'][number]) =>
    template.replace('{coin}', coin).replace('{conditionId}', conditionId)
  const valid = fc.constantFrom(...markets).map((market) => fillMarket(path, market))
  const names = path.match(/\{\w+\}/g)
  if (names === null) return valid
  const hurt = fc.tuple(fc.constantFrom(...names), segment, fc.constantFrom(...markets))
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

function bodiesOf({ signups }: Ground, entry: Entry): Arbitrary<Draft | undefined> {
  if (entry.method === 'GET') return fc.constant(undefined)
  const samples = entry.operationId === 'createKey' ? signups : [exampleOf(entry)]
  const body = entry.requestBody ?? noBody
  return fc.option(draftsOf(body, samples), { nil: undefined, freq: 8 })
}

/** A body for an operation that reads none. */
const noBody = { required: false, content: { 'application/json': { schema: {}, example: {} } } }

const nameOf = (pair: string): string => pair.split('=')[0] ?? ''

/**
 * The maximum number of optional parameters of a call that should succeed: with more, few would.
 */
const FEW = 2

/**
 * Half of the calls have the required parameters in their query. A quarter of all have a few more,
 * each with a value that its schema allows, so that some succeed; the others draw from all
 * parameters.
 */
export function callsOf(ground: Ground, entry: Entry): Arbitrary<Call> {
  const inQuery = (entry.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const drawn = fc.tuple(...inQuery.map((each) => pairOf(ground, each)), extraPair)
  const few = fc
    .shuffledSubarray(inQuery, { maxLength: Math.min(FEW, inQuery.length) })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((each) => valuesOf(ground, each).map((value) => `${each.name}=${value}`)),
      ),
    )
  const queries = fc.oneof(
    { weight: 1, arbitrary: fc.tuple(fc.constant(true), few) },
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.integer({ max: 2, min: 0 }).map((one) => one === 0),
        drawn,
      ),
    },
  )
  return fc.record({
    path: pathsOf(ground, entry),
    query: queries.map(([isSound, all]) => {
      const sound = isSound ? requiredQueryOf(entry).split('&').filter(Boolean) : []
      const given = new Set(sound.map(nameOf))
      const more = all.filter((pair) => pair !== undefined && !given.has(nameOf(pair)))
      return [...sound, ...more].join('&')
    }),
    headers: isKeyless(entry)
      ? fc.tuple(headers, payments).map((both) => Object.assign({}, ...both))
      : headers,
    name: someName,
    body: bodiesOf(ground, entry),
  })
}
