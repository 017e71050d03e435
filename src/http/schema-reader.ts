/**
 * Strict reading of queries and bodies by the schemas that document them. Elysia's own coercion
 * takes `1e3`, `0x10` and the last of a repeated parameter, drops unknown ones and shows what it
 * refused; here each is `invalid_parameter`, because a typo must not silently return other data.
 */
import {
  OptionalKind,
  type SchemaOptions,
  type Static,
  type TObject,
  type TSchema,
  Type,
} from '@sinclair/typebox'

import { type AppError, parameterError } from '#src/domain/errors.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { DAY_MS, MOMENT_MS_MAX, parseMoment } from '#src/domain/time.ts'
import { count } from '#src/platform/count.ts'
import { isRecord } from '#src/platform/record.ts'

import { decodePart } from './target.ts'

/** Schema of a string that is one of `texts`. */
export const literals = <const T extends string>(texts: readonly T[], options: SchemaOptions) =>
  Type.Unsafe<T>(
    Type.Union(
      texts.map((text) => Type.Literal(text)),
      options,
    ),
  )

/** Schema of a route without parameters. */
export const noQuery = Type.Object({})

/** A Unix time in milliseconds, or in seconds where it is below 100000000000. */
const unixTime = Type.Integer({ minimum: 0, maximum: MOMENT_MS_MAX })

/**
 * Schema of a moment to the end of the year 9999, sent as a Unix time or as RFC 3339, and read as
 * Unix milliseconds.
 */
export const moment = (options: SchemaOptions) =>
  Type.Unsafe<number>(Type.Union([unixTime, Type.String({ format: 'date-time' })], options))

/** Schema of a UTC day, sent as a date or as a moment in it, and read as its first millisecond. */
export const utcDay = (options: SchemaOptions) =>
  Type.Unsafe<number>(
    Type.Union(
      [Type.String({ format: 'date' }), Type.String({ format: 'date-time' }), unixTime],
      options,
    ),
  )

/** Schema of an object of any shape, of at most so many bytes of JSON; it is passed on as is. */
export const opaqueObject = (bytesMax: number, options: SchemaOptions) =>
  Type.Unsafe<Record<string, unknown>>(
    Type.Object({}, { additionalProperties: true, 'x-max-bytes': bytesMax, ...options }),
  )

/** Queries are texts, bodies JSON. */
type Part = 'query' | 'body'

type Rule = {
  /** What to send. */
  expected: string
  /** The types of JSON that it may be, as `typeOf` says them. */
  types: string
  /** Undefined for what is refused. */
  read: (sent: unknown, path: string) => unknown
}
type Field = Rule & { name: string; default: unknown; isRequired: boolean }
type Fields = {
  all: readonly Field[]
  byName: ReadonlyMap<string, Field>
  /** Those that something must be done about when they are absent. */
  expected: readonly Field[]
}

const compiled = { query: new WeakMap<TObject, Fields>(), body: new WeakMap<TObject, Fields>() }

function fieldsOf(schema: TObject, part: Part): Fields {
  const known = compiled[part].get(schema)
  if (known !== undefined) return known
  const all = Object.entries(schema.properties).map(([name, property]) => ({
    name,
    default: property.default,
    isRequired: !isOptional(property),
    ...toRule(name, property, part),
  }))
  const fields: Fields = {
    all,
    byName: new Map(all.map((field) => [field.name, field])),
    expected: all.filter((field) => field.isRequired || field.default !== undefined),
  }
  compiled[part].set(schema, fields)
  return fields
}

/** True if a property may be left out: it is optional, or its default is filled in. */
export const isOptional = (property: TSchema): boolean =>
  OptionalKind in property || property.default !== undefined

/**
 * Reads a query string (without `?`). A default is filled in; other absent parameters stay away.
 * Throws `invalid_parameter`, naming the parameter.
 */
export function parseQuery<S extends TObject>(schema: S, search: string): Static<S> {
  const fields = fieldsOf(schema, 'query')
  const values: Record<string, unknown> = {}
  let start = 0
  while (start < search.length) {
    const next = search.indexOf('&', start)
    const end = next < 0 ? search.length : next
    if (end > start) readPair(fields, values, search.slice(start, end))
    start = end + 1
  }
  for (const { name, default: fallback, expected } of fields.expected) {
    if (values[name] !== undefined) continue
    if (fallback === undefined) {
      throw parameterError(name, `\`${name}\` is missing. Send ${expected}.`)
    }
    values[name] = fallback
  }
  // Every field was read by its own schema just above.
  return values as Static<S>
}

function readPair(fields: Fields, values: Record<string, unknown>, pair: string): void {
  const split = pair.indexOf('=')
  const name = decode(split < 0 ? pair : pair.slice(0, split), undefined)
  const field = fields.byName.get(name)
  if (field === undefined) throw unknownError(excerpt(name), 'parameter of this route', fields)
  if (values[name] !== undefined) {
    throw parameterError(name, `\`${name}\` is repeated. Send it once.`)
  }
  const text = split < 0 ? '' : decode(pair.slice(split + 1), name)
  values[name] = field.read(text, name)
  if (values[name] !== undefined) return
  throw parameterError(name, `\`${name}\` is "${excerpt(text)}", but must be ${field.expected}.`)
}

function decode(text: string, name: string | undefined): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  const decoded = decodePart(spaced)
  if (decoded !== undefined) return decoded
  const param = name ?? excerpt(text)
  const message = `The percent-encoding of \`${param}\` is malformed. Encode a % itself as %25.`
  throw parameterError(param, message)
}

/**
 * Reads a body. Members come in the order of the schema, so equal bodies are printed alike. Throws
 * `invalid_parameter`, naming the member.
 */
export const parseBody = <S extends TObject>(schema: S, body: Record<string, unknown>) =>
  // Every member is read by its own schema.
  readMembers(fieldsOf(schema, 'body'), body, '') as Static<S>

/** `path` precedes the names of members that are inside another one. */
function readMembers(
  fields: Fields,
  members: Record<string, unknown>,
  path: string,
): Record<string, unknown> {
  const unknown = Object.keys(members).find((name) => !fields.byName.has(name))
  if (unknown !== undefined) {
    const owner = path === '' ? 'this object' : `\`${path.slice(0, -1)}\``
    throw unknownError(path + excerpt(unknown), `member of ${owner}`, fields)
  }
  const values: Record<string, unknown> = {}
  for (const field of fields.all) {
    const { name } = field
    const value = Object.hasOwn(members, name) ? members[name] : field.default
    const place = path + name
    if (value === undefined) {
      if (!field.isRequired) continue
      const message = `\`${place}\` is missing. Send ${field.expected}.`
      throw parameterError(place, message)
    }
    values[name] = field.read(value, place)
    if (values[name] !== undefined) continue
    const type = typeOf(value)
    const but = field.types.includes(type) ? '' : ` is ${type}, but`
    throw parameterError(place, `\`${place}\`${but} must be ${field.expected}.`)
  }
  return values
}

/** All that is shown of a member that is refused: it may be long, deep or secret. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return 'a string'
  return typeof value === 'number' ? 'a number' : 'an object'
}

function unknownError(param: string, what: string, { all }: Fields): AppError {
  const known = all.map(({ name }) => `\`${name}\``).join(', ')
  const hint = known === '' ? 'This route has no parameters.' : `Known are ${known}.`
  return parameterError(param, `\`${param}\` is not a ${what}. ${hint}`)
}

function toRule(name: string, property: TSchema, part: Part): Rule {
  if (hasForm(property, 'date')) return dayRule
  if (hasForm(property, 'date-time')) return momentRule(part)
  if (property.type === 'integer') return integerRule(property, part)
  const texts = literalsOf(property)
  if (texts !== undefined) return literalRule(texts)
  if (property.type === 'string') return textRule(property)
  if (property.type === 'boolean') return booleanRule(part)
  if (part === 'body') {
    const { items, maxItems, 'x-max-bytes': bytesMax } = property
    if (typeof bytesMax === 'number') return objectRule(bytesMax)
    if (property.type === 'number') return numberRule(property)
    if (items?.type === 'object' && maxItems > 0) return listRule(property)
  }
  throw new Error(
    `The reader cannot read the schema of \`${name}\` in a ${part}. A query has integers, booleans, moments, days, strings and \`literals\`.`,
  )
}

/** A bounded list of objects, each of which is read by its own fields. */
function listRule({ items, minItems = 0, maxItems }: TSchema): Rule {
  const fields = fieldsOf(items, 'body')
  const expected = `a list of ${minItems} to ${maxItems} objects`
  return {
    expected,
    types: 'a list',
    read(sent, path) {
      const entries: unknown[] | undefined = Array.isArray(sent) ? sent : undefined
      if (entries === undefined || entries.length < minItems || entries.length > maxItems) {
        const what =
          entries === undefined
            ? 'is not a list'
            : `has ${count(entries.length, 'entry', 'entries')}`
        throw parameterError(path, `\`${path}\` ${what}, but must be ${expected}.`)
      }
      return entries.map((item, index) => {
        const at = `${path}[${index}]`
        if (isRecord(item)) return readMembers(fields, { ...item }, `${at}.`)
        throw parameterError(at, `\`${at}\` must be a JSON object: \`{ … }\`.`)
      })
    },
  }
}

/** True of `date-time` for what `moment` made, of both for what `utcDay` made. */
const hasForm = ({ anyOf }: TSchema, form: 'date' | 'date-time'): boolean =>
  Array.isArray(anyOf) && anyOf.some(({ format }) => format === form)

const MOMENT_FORMS =
  'Unix milliseconds such as 1776153610000, or RFC 3339 such as 2026-04-14T08:00:10Z'

const dayRule: Rule = {
  expected: `a day in UTC, such as 2026-04-14, or a time in it: ${MOMENT_FORMS}`,
  types: 'a string or a number',
  read(sent) {
    const timeMs = parseMoment(`${sent}T00:00:00Z`) ?? queryMoment(sent)
    return timeMs === undefined ? undefined : timeMs - (timeMs % DAY_MS)
  },
}

const momentRule = (part: Part): Rule => ({
  expected: `a time: ${MOMENT_FORMS}`,
  types: 'a string or a number',
  read: (sent) => (part === 'query' ? queryMoment(sent) : memberMoment(sent)),
})

/** A space before an offset is a `+` that was not percent-encoded. */
const queryMoment = (sent: unknown): number | undefined =>
  typeof sent === 'string' ? parseMoment(sent.replace(/ (?=\d\d(?::?\d\d)?$)/, '+')) : undefined

/** Numbers are Unix times; a text of digits is neither form. */
function memberMoment(sent: unknown): number | undefined {
  const isText = typeof sent === 'string' && !isCanonicalInteger(sent)
  return isText || Number.isSafeInteger(sent) ? parseMoment(String(sent)) : undefined
}

/** Canonical decimal digits only: one value has one spelling, so caches and cursors agree. */
function integerRule({ minimum, maximum }: TSchema, part: Part): Rule {
  const min: number = minimum ?? 0
  const max: number = maximum ?? Number.MAX_SAFE_INTEGER
  const expected = `an integer from ${min} to ${max}`
  const check = (value: unknown): number | undefined =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
      ? value
      : undefined
  const types = 'a number'
  if (part === 'body') return { expected, types, read: check }
  return {
    expected: `${expected} in plain decimal digits`,
    types,
    read: (sent) =>
      typeof sent === 'string' && isCanonicalInteger(sent) ? check(Number(sent)) : undefined,
  }
}

const numberRule = ({ minimum, maximum, 'x-expected': expected }: TSchema): Rule => ({
  expected: expected ?? `a number from ${minimum} to ${maximum}`,
  types: 'a number',
  read: (sent) =>
    typeof sent === 'number' && sent >= minimum && sent <= maximum ? sent : undefined,
})

const booleanRule = (part: Part): Rule => ({
  expected: 'true or false',
  types: 'a boolean',
  read(sent) {
    if (part === 'body') return typeof sent === 'boolean' ? sent : undefined
    return sent === 'true' || sent === 'false' ? sent === 'true' : undefined
  },
})

/** At most the digits of 2^53 - 1; the bounds refuse what is larger. */
const isCanonicalInteger = (text: string): boolean => /^(0|[1-9]\d{0,15})$/.test(text)

/** The texts that a schema of string literals allows; undefined for any other schema. */
function literalsOf(property: TSchema): string[] | undefined {
  const options: TSchema[] = Array.isArray(property.anyOf) ? property.anyOf : [property]
  const texts = options.map(({ const: text }): unknown => text)
  return texts.every((text) => typeof text === 'string') ? texts : undefined
}

/** Joins `a, b or c`. */
const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' })

const literalRule = (texts: readonly string[]): Rule => ({
  expected: alternatives.format(texts.map((text) => `\`${text}\``)),
  types: 'a string',
  read: (sent) => texts.find((text) => text === sent),
})

/** What fits a pattern is in words its schema's `x-expected`. */
function textRule(schema: TSchema): Rule {
  const { minLength = 0, maxLength, pattern, 'x-expected': expected } = schema
  const min: number = minLength
  const max: number = maxLength ?? Number.MAX_SAFE_INTEGER
  const matcher = pattern === undefined ? undefined : new RegExp(pattern)
  const least = min > 0 ? ' that is not empty' : ''
  const length = maxLength === undefined ? least : ` of ${min} to ${max} characters`
  return {
    expected: expected ?? `a string${length}${matching(pattern)}`,
    types: 'a string',
    read: (sent) =>
      typeof sent === 'string' &&
      sent.length >= min &&
      sent.length <= max &&
      sent.isWellFormed() &&
      (matcher === undefined || matcher.test(sent))
        ? sent
        : undefined,
  }
}

const matching = (pattern: unknown) => (pattern === undefined ? '' : ` matching ${pattern}`)

const objectRule = (bytesMax: number): Rule => ({
  expected: `an object of at most ${bytesMax} bytes of JSON`,
  types: 'an object',
  read: (sent) =>
    isRecord(sent) && Buffer.byteLength(JSON.stringify(sent)) <= bytesMax ? sent : undefined,
})
