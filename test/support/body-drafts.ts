/**
 * Bodies drawn from a schema of the OpenAPI document: valid, at a bound, of another type, foreign,
 * repeated, huge, or not JSON.
 */
import fc, { type Arbitrary } from 'fast-check'

import type { RequestBody, Schema } from './openapi-document.ts'

export type Draft = { bytes: Uint8Array<ArrayBuffer>; contentType: string | undefined }

const NESTING = 13_000
const encoder = new TextEncoder()

const foreignValues = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  'x',
  '0x',
  '1',
  '\u0000',
  '\ud800',
  '💩',
  'bf_live_x',
  'a'.repeat(5_000),
  [],
  {},
  [[]],
  { a: { b: 1 } },
  [1, 2],
]
const foreignNames = ['x', '', '__proto__', 'constructor', 'toString', 'a'.repeat(500), '\u0000"']

const notJson = [
  '',
  '{',
  '{}x',
  '{"a":1,}',
  "{'a':1}",
  'null',
  '1',
  '"x"',
  '[]',
  '[{}]',
  'x=1&y=2',
  '\ufeff{}',
  '{"a":1e999}',
  '{"a":NaN}',
  '['.repeat(32_000) + ']'.repeat(32_000),
  `${'{"a":'.repeat(NESTING)}1${'}'.repeat(NESTING)}`,
  `{"a":"${'\\"'.repeat(30_000)}"}`,
  `{"${'a'.repeat(64_000)}":1}`,
].map((text) => encoder.encode(text))

const wrongTypes = [
  undefined,
  '',
  'text/plain',
  'text/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=latin1',
  'application/json, application/json',
  'application/jsonp',
]

const foreign: Arbitrary<unknown> = fc.oneof(fc.constantFrom(...foreignValues), fc.jsonValue())

/** Values that the schema of a member allows, including its bounds, and their neighbours. */
function valuesOf(schema: Schema): Arbitrary<unknown> {
  const { example, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
  if (schema.type === 'integer') {
    const near = [minimum, maximum, minimum - 1, maximum + 1].filter(Number.isSafeInteger)
    return fc.oneof(fc.constantFrom(...near, example), fc.integer({ min: minimum, max: maximum }))
  }
  const { minLength = 0, maxLength = 100, pattern = '^.*$' } = schema
  const near = [minLength - 1, minLength, maxLength, maxLength + 1]
  const bounds = near.filter((length) => length >= 0).map((length) => 'a'.repeat(length))
  const matching = fc.stringMatching(new RegExp(pattern))
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(example) },
    { weight: 2, arbitrary: matching },
    { weight: 1, arbitrary: fc.constantFrom(...bounds) },
  )
}

type Member = [name: string, value: unknown]

const none = fc.constant<Member[]>([])

function memberOf(name: string, schema: Schema, isRequired: boolean): Arbitrary<Member[]> {
  return fc.oneof(
    { weight: 12, arbitrary: valuesOf(schema).map((value): Member[] => [[name, value]]) },
    { weight: isRequired ? 1 : 8, arbitrary: none },
    { weight: 1, arbitrary: foreign.map((value): Member[] => [[name, value]]) },
    {
      weight: 1,
      arbitrary: foreign.map((value): Member[] => [
        [name, value],
        [name, value],
      ]),
    },
  )
}

const extra: Arbitrary<Member[]> = fc.oneof(
  { weight: 12, arbitrary: none },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...foreignNames), foreign)
      .map((member): Member[] => [member]),
  },
)

/** Prints JSON by hand, because an object cannot have a member twice or one named `__proto__`. */
const toJson = (members: Member[]): Uint8Array<ArrayBuffer> => {
  const texts = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return encoder.encode(`{${texts.join(', ')}}`)
}

/** Draws bodies of an operation; `samples` are some that succeed. */
export function draftsOf(
  { content }: RequestBody,
  samples: readonly Record<string, unknown>[],
): Arbitrary<Draft> {
  const { properties = {}, required = [] } = content['application/json'].schema
  const members = Object.entries(properties).map(([name, schema]) =>
    memberOf(name, schema, required.includes(name)),
  )
  const drawn = fc.tuple(...members, extra).map((parts) => toJson(parts.flat()))
  const whole = fc.constantFrom(...samples).map((sample) => toJson(Object.entries(sample)))
  return fc.record({
    bytes: fc.oneof(
      { weight: 6, arbitrary: drawn },
      { weight: 2, arbitrary: whole },
      { weight: 2, arbitrary: fc.constantFrom(...notJson) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.slice()) },
    ),
    contentType: fc.oneof(
      {
        weight: 12,
        arbitrary: fc.constantFrom('application/json', 'application/json;charset=UTF-8'),
      },
      { weight: 1, arbitrary: fc.constantFrom(...wrongTypes) },
    ),
  })
}
