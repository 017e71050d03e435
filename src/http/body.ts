/**
 * Strict reading of JSON bodies, for routes with `parse: 'none'`: Elysia's own reading drops unknown
 * members, takes the last of a repeated one, and shows what it refused. Bodies are flat objects of
 * texts and integers, of lists of such objects, and of objects whose inside is for others to read.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox'

import { AppError, type ErrorCode } from '#src/core/errors.ts'

import { BODY_BYTES_MAX, refuseLargeBody } from './body-size.ts'
import { excerpt } from './excerpt.ts'
import { measureJson, NAMES_MAX, NESTING_MAX, VALUES_MAX } from './json.ts'
import { type OpenApiSchema, toOpenApiSchema } from './openapi-schema.ts'
import { isOptional, literalsOf } from './query.ts'
import { textRuleOf } from './text-rule.ts'

/** Codes with which `readBody` refuses, for the documentation of a route. */
export const bodyCodes: readonly ErrorCode[] = [
  'invalid_parameter',
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
]

const mediaType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

export type OpenApiBody = {
  required: boolean
  content: Record<string, { schema: OpenApiSchema; example: Record<string, unknown> }>
}

/** Says what is accepted, and decides it. */
type Field = { expected: string; accepts: (value: unknown) => boolean }

/**
 * Reads the body by an object schema of `Type.String`, `Type.Integer`, unions of string literals,
 * `Type.Array` of object schemas with `minItems` and `maxItems`, and
 * `Type.Object({}, { 'x-max-bytes': … })`, which is passed on as it is if its JSON is no longer. A default is filled in; members come in the order of the schema, so `JSON.stringify` prints equal
 * bodies alike. Where nothing is required, no body at all is an empty object. Throws
 * `unsupported_media_type`, `invalid_request`, or `invalid_parameter` naming the member.
 */
export async function readBody<S extends TObject>(schema: S, request: Request): Promise<Static<S>> {
  const text = await readText(request)
  const isAbsent = text === '' && !isRequired(schema)
  if (!isAbsent) assertJson(request.headers.get('content-type'))
  const values = readMembers(schema, isAbsent ? {} : parseObject(text))
  // Every member was read by its own schema just above.
  return values as Static<S>
}

/** Renders what `readBody` accepts; the example is made of those of the members. */
export function openApiBody(schema: TObject): OpenApiBody {
  const { required: _, ...rest } = toOpenApiSchema(schema)
  const members = Object.entries(schema.properties)
  const required = members.flatMap(([name, member]) => (isOptional(member) ? [] : [name]))
  const example = Object.fromEntries(
    members.flatMap(([name, { examples }]) =>
      Array.isArray(examples) ? [[name, examples[0]]] : [],
    ),
  )
  const closed = { ...rest, additionalProperties: false }
  return {
    required: required.length > 0,
    content: {
      'application/json': {
        schema: required.length > 0 ? { ...closed, required } : closed,
        example,
      },
    },
  }
}

const isRequired = ({ properties }: TObject): boolean =>
  Object.values(properties).some((property) => !isOptional(property))

async function readText(request: Request): Promise<string> {
  const bytes = await readBytes(request)
  if (bytes.byteLength > BODY_BYTES_MAX) throw refuseLargeBody()
  try {
    // `request.text()` would put marks in the place of what is not UTF-8.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw refuseBody('The body is not UTF-8.', cause)
  }
}

async function readBytes(request: Request): Promise<ArrayBuffer> {
  try {
    return await request.arrayBuffer()
  } catch (cause) {
    throw refuseBody('The body is cut off.', cause)
  }
}

function assertJson(contentType: string | null): void {
  if (contentType !== null && mediaType.test(contentType)) return
  throw new AppError(
    'unsupported_media_type',
    'Send the body as JSON, with the header `Content-Type: application/json`.',
  )
}

function parseObject(text: string): Record<string, unknown> {
  const { depth, names, values } = measureJson(text)
  // Before anything else looks at it: what is nested deeply is slow to take apart and to print.
  if (depth > NESTING_MAX) {
    throw refuseBody(`The body is nested more than ${NESTING_MAX} levels deep.`)
  }
  if (names > NAMES_MAX) throw refuseBody(`The body has more than ${NAMES_MAX} members.`)
  if (values > VALUES_MAX) throw refuseBody(`The body has more than ${VALUES_MAX} values.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // The parser's own message would show what was sent.
    throw refuseBody('The body is not JSON.', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuseBody('The body must be a JSON object: `{ … }`.')
  }
  const members = { ...value }
  if (names > countMembers(members)) {
    throw refuseBody('The body repeats a member. Send each once.')
  }
  return members
}

/** How many members there are at all levels. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const isList = Array.isArray(value)
  // `Object.values` of a long list takes a hundred times as long as the rest.
  const values: unknown[] = isList ? value : Object.values(value)
  let count = isList ? 0 : values.length
  for (const each of values) count += countMembers(each)
  return count
}

/** `path` stands in front of the names of members that are inside another one. */
function readMembers(
  schema: TObject,
  members: Record<string, unknown>,
  path = '',
): Record<string, unknown> {
  const { properties } = schema
  const unknown = Object.keys(members).find((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) throw refuseUnknown(unknown, properties, path)
  const values: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const value = Object.hasOwn(members, name) ? members[name] : property.default
    const place = path + name
    if (value !== undefined) values[name] = readMember(place, property, value)
    else if (!isOptional(property)) throw refuse(place, `\`${place}\` is missing from the body.`)
  }
  return values
}

const readMember = (name: string, property: TSchema, value: unknown): unknown =>
  isList(property) ? readItems(name, property, value) : assertMember(name, property, value)

/** True for a bounded list of objects. */
const isList = ({ type, items, maxItems }: TSchema): boolean =>
  type === 'array' && items.type === 'object' && typeof maxItems === 'number'

function readItems(
  name: string,
  { items, minItems = 0, maxItems }: TSchema,
  value: unknown,
): unknown[] {
  const entries = Array.isArray(value) ? value : undefined
  const count = entries?.length ?? -1
  if (entries === undefined || count < minItems || count > maxItems) {
    const sent = entries === undefined ? 'is no list' : `has ${count} entries`
    const expected = `a list of ${minItems} to ${maxItems} objects`
    throw refuse(name, `\`${name}\` ${sent}, but must be ${expected}.`)
  }
  return entries.map((item: unknown, index) => {
    const place = `${name}[${index}]`
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      throw refuse(place, `\`${place}\` must be a JSON object: \`{ … }\`.`)
    }
    return readMembers(items, { ...item }, `${place}.`)
  })
}

function assertMember(name: string, property: TSchema, value: unknown): unknown {
  const { expected, accepts } = toField(name, property)
  if (accepts(value)) return value
  throw refuse(name, `\`${name}\` is ${typeOf(value)}, but must be ${expected}.`)
}

/** All that is shown of a value that is refused: it may be long, deep or secret. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return 'a text'
  return typeof value === 'number' ? 'a number' : 'an object'
}

const refuseBody = (message: string, cause?: unknown) =>
  new AppError('invalid_request', message, { cause })

const refuse = (param: string, message: string) =>
  new AppError('invalid_parameter', message, { param })

function refuseUnknown(name: string, properties: TObject['properties'], path: string): AppError {
  const known = Object.keys(properties).map((key) => `\`${key}\``)
  const param = path + excerpt(name)
  const place = path === '' ? 'this body' : `\`${path.slice(0, -1)}\``
  return refuse(param, `\`${param}\` is not a member of ${place}. Known are ${known.join(', ')}.`)
}

function toField(name: string, property: TSchema): Field {
  if (property.type === 'integer') return integerField(property)
  const literals = literalsOf(property)
  if (literals) return literalField(literals)
  if (property.type === 'string') return stringField(property)
  if (isOpaque(property)) return objectField(property['x-max-bytes'])
  throw new Error(`readBody cannot read the schema of \`${name}\`.`)
}

function integerField({ minimum, maximum }: TSchema): Field {
  const min: number = minimum ?? 0
  const max: number = maximum ?? Number.MAX_SAFE_INTEGER
  return {
    expected: `an integer from ${min} to ${max}`,
    accepts: (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
  }
}

const literalField = (literals: readonly string[]): Field => ({
  expected: literals.map((literal) => JSON.stringify(literal)).join(' or '),
  accepts: (value) => typeof value === 'string' && literals.includes(value),
})

/** True for an object of any shape, within a bound. */
const isOpaque = (property: TSchema): boolean =>
  property.type === 'object' && typeof property['x-max-bytes'] === 'number'

const objectField = (bytesMax: number): Field => ({
  expected: `an object of at most ${bytesMax} bytes of JSON`,
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Buffer.byteLength(JSON.stringify(value)) <= bytesMax,
})

function stringField(schema: TSchema): Field {
  const { expected, accepts } = textRuleOf(schema)
  return {
    expected,
    accepts: (value) => typeof value === 'string' && value.isWellFormed() && accepts(value),
  }
}
