/**
 * Kinds of TypeBox schemas for what callers send. Each value has one spelling, so that caches and
 * cursors agree, and a typo is refused instead of returning other data.
 *
 * A query is text: `integer`, `boolean`, `moment` and `utcDay` check the text and decode it. They
 * accept decoded values too, because Elysia fills in defaults before it checks a query, and decodes
 * a query twice. `Type.Integer` and `Type.Boolean` are for bodies: in a query Elysia coerces them,
 * and reads `1e3` as 1000 and an absent integer as 0.
 */
import {
  Kind,
  OptionalKind,
  type SchemaOptions,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'

import { DAY_MS, MOMENT_MS_MAX, parseMoment } from '#src/domain/time.ts'
import { isRecord } from '#src/platform/record.ts'

const EXPECTED = Symbol('expected')
type Expecting = TSchema & { [EXPECTED]?: string }

/** Gives a schema the words that name its values, for the error of a caller who sends others. */
export const expecting = <S extends TSchema>(words: string, schema: S): S =>
  Object.assign(schema, { [EXPECTED]: words })

/** Registers a kind and returns what makes its schemas. `read` returns undefined for what is refused. */
function kindOf<T>(
  name: string,
  read: (sent: unknown, schema: TSchema) => T | undefined,
): (words: string, schema: SchemaOptions) => TSchema & { static: T } {
  TypeRegistry.Set<TSchema>(name, (schema, sent) => read(sent, schema) !== undefined)
  return (words, options) => {
    const schema = Type.Unsafe<unknown>({ ...options, [Kind]: name } as SchemaOptions)
    const decoded = Type.Transform(schema)
      .Decode((sent): unknown => read(sent, schema))
      .Encode((value) => value)
    return expecting(words, Type.Unsafe<T>(decoded))
  }
}

/** At most the digits of 2^53 - 1; the bounds refuse what is larger. */
const canonical = /^(0|[1-9]\d{0,15})$/

type Bounds = SchemaOptions & { minimum?: number; maximum?: number; default?: number }

const integerText = kindOf('IntegerText', (sent, { minimum, maximum }: TSchema) => {
  const value = typeof sent === 'string' && canonical.test(sent) ? Number(sent) : sent
  const isWithin = Number.isSafeInteger(value) && Number(value) >= minimum
  return isWithin && Number(value) <= (maximum ?? Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : undefined
})

/** Integer of a query, in canonical decimal digits. */
export const integer = ({ minimum = 0, ...options }: Bounds) => {
  const { maximum = Number.MAX_SAFE_INTEGER } = options
  const words = `an integer from ${minimum} to ${maximum} in plain decimal digits`
  return integerText(words, { ...options, type: 'integer', minimum })
}

const booleanText = kindOf('BooleanText', (sent) =>
  typeof sent === 'boolean' || sent === 'true' || sent === 'false'
    ? sent === true || sent === 'true'
    : undefined,
)

/** Boolean of a query. */
export const boolean = (options: SchemaOptions) =>
  booleanText('true or false', { ...options, type: 'boolean' })

/** Unix time in milliseconds, or in seconds if it is below 100000000000. */
const unixTime = { type: 'integer', minimum: 0, maximum: MOMENT_MS_MAX }
const rfc3339 = { type: 'string', format: 'date-time' }
const date = { type: 'string', format: 'date' }
const UNIX_FORM = 'Unix milliseconds such as 1776153610000'
const RFC3339_FORM = 'RFC 3339 such as 2026-04-14T08:00:10Z'
const MOMENT_WORDS = `a time: ${UNIX_FORM}, ${RFC3339_FORM}, or a date such as 2026-04-14 (00:00 UTC)`

/** A space before an offset is a `+` that was not percent-encoded. */
const parseText = (text: string): number | undefined =>
  parseMoment(text.replace(/ (?=\d\d(?::?\d\d)?$)/, '+')) ?? parseMoment(`${text}T00:00:00Z`)

const momentText = kindOf('MomentText', (sent) =>
  typeof sent === 'string' ? parseText(sent) : numberIn(sent),
)

/** Moment of a query up to the end of the year 9999, decoded as Unix milliseconds. */
export const moment = (options: SchemaOptions) =>
  momentText(MOMENT_WORDS, { ...options, anyOf: [unixTime, rfc3339, date] })

const momentValue = kindOf('Moment', (sent) => {
  const isText = typeof sent === 'string' && !canonical.test(sent)
  return isText || Number.isSafeInteger(sent) ? parseText(String(sent)) : undefined
})

/** Moment of a body: a number is a Unix time, a string is RFC 3339 or a date. */
export const momentMember = (options: SchemaOptions) =>
  momentValue(MOMENT_WORDS, { ...options, anyOf: [unixTime, rfc3339, date] })

const dayText = kindOf('DayText', (sent) => {
  if (typeof sent !== 'string') return numberIn(sent)
  const timeMs = parseText(sent)
  return timeMs === undefined ? undefined : timeMs - (timeMs % DAY_MS)
})

/** UTC day of a query, sent as a date or as a moment in it, decoded as its first millisecond. */
export const utcDay = (options: SchemaOptions) =>
  dayText(`a day in UTC, such as 2026-04-14, or a time in it: ${UNIX_FORM}, or ${RFC3339_FORM}`, {
    ...options,
    anyOf: [date, rfc3339, unixTime],
  })

const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined

const decimalKind = kindOf('DecimalText', (sent) => (typeof sent === 'string' ? sent : undefined))

/** Decimal of a query, left as text for its route, which knows the bounds. */
export const decimalText = (options: SchemaOptions) =>
  decimalKind('a plain decimal', { ...options, type: 'string', format: 'decimal' })

/** String that is one of `texts`. */
export const oneOf = <const T extends string>(texts: readonly T[], options: SchemaOptions = {}) =>
  Type.Unsafe<T>(
    Type.Union(
      texts.map((text) => Type.Literal(text)),
      options,
    ),
  )

/** Object of any shape, of at most so many bytes of JSON. */
export const opaqueObject = (bytesMax: number, options: SchemaOptions) => {
  const isWithin = (sent: unknown): sent is Record<string, unknown> =>
    isRecord(sent) && Buffer.byteLength(JSON.stringify(sent)) <= bytesMax
  // The bound is in the name, because it must not be in the document.
  const make = kindOf(`Object of ${bytesMax} bytes`, (sent) => (isWithin(sent) ? sent : undefined))
  const shape = { type: 'object', properties: {}, additionalProperties: true }
  return make(`an object of at most ${bytesMax} bytes of JSON`, { ...shape, ...options })
}

/** Parameters of a query as members of a body, in which integers and moments are JSON. */
export const asMembers = <P extends TProperties>(parameters: P): P => {
  const members = Object.entries(parameters).map(([name, parameter]) => [name, asMember(parameter)])
  return Object.fromEntries(members)
}

function asMember(parameter: TSchema): TSchema {
  // The copy drops symbols: kinds, transforms and words.
  const options = JSON.parse(JSON.stringify(parameter)) as SchemaOptions
  const makers: Readonly<Record<string, (options: SchemaOptions) => TSchema>> = {
    IntegerText: Type.Integer,
    BooleanText: Type.Boolean,
    MomentText: momentMember,
  }
  const member = makers[parameter[Kind]]?.(options) ?? parameter
  return OptionalKind in parameter ? Type.Optional(member) : member
}

/** Query of a route without parameters. */
export const noQuery = Type.Object({})

/** Throws for kinds that Elysia would coerce in a query. */
export function assertTextKinds({ properties }: TObject): void {
  for (const [name, property] of Object.entries(properties))
    if (/^(Integer|Number|Boolean|Array|Object)$/.test(property[Kind]))
      throw new Error(`\`${name}\` in a query must be of a kind in kinds.ts, or a string.`)
}

/** Joins `a, b or c`. */
const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Words for what a schema accepts. */
export function expectedBy(schema: Expecting): string {
  const { [EXPECTED]: words, type, anyOf, minimum = 0, const: literal } = schema
  if (words !== undefined) return words
  if (literal !== undefined) return `\`${literal}\``
  if (Array.isArray(anyOf)) return alternatives.format(anyOf.map(expectedBy))
  const bounds = `${minimum} to ${schema.maximum ?? Number.MAX_SAFE_INTEGER}`
  if (type === 'integer') return `an integer from ${bounds}`
  if (type === 'number') return `a number from ${bounds}`
  if (type === 'boolean') return 'true or false'
  if (type === 'array') return `a list of ${schema.minItems ?? 0} to ${schema.maxItems} objects`
  return type === 'string' ? stringWords(schema) : 'a JSON object: `{ … }`'
}

function stringWords({ minLength = 0, maxLength, pattern }: TSchema): string {
  const least = minLength > 0 ? ' that is not empty' : ''
  const length = maxLength === undefined ? least : ` of ${minLength} to ${maxLength} characters`
  return `a string${length}${pattern === undefined ? '' : ` matching ${pattern}`}`
}
