/**
 * Strict reading of query strings. Elysia's own coercion takes `1e3`, `0x10` and the last of a
 * repeated parameter, and drops unknown ones; here every one of them is `invalid_parameter`, because
 * a typo must not silently return other data. A schema is compiled once, at its first use.
 */
import { OptionalKind, type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'

import { AppError } from '#src/core/errors.ts'

import { excerpt } from './excerpt.ts'
import { textRuleOf } from './text-rule.ts'
import { decodePart } from './url.ts'

/** For routes without parameters, so that a misspelt one is refused there too. */
export const NoQuery = Type.Object({})

type Value = string | number

/** Returns the value of a decoded text, or a message that says what to send instead. */
type Read = (text: string) => Value | Refusal
type Refusal = { expected: string }

type Field = { name: string; read: Read; default: Value | undefined; isRequired: boolean }
type Compiled = { fields: readonly Field[]; byName: ReadonlyMap<string, Field> }

const compiledSchemas = new WeakMap<TObject, Compiled>()

/**
 * Reads a query string (without `?`) by an object schema of `Type.Integer`, `Type.String`,
 * `Type.Literal` and unions of string literals. A default makes a parameter optional and is filled
 * in; other absent ones stay away. Throws `invalid_parameter`, naming the parameter.
 */
export function parseQuery<S extends TObject>(schema: S, search: string): Static<S> {
  const { fields, byName } = compiledOf(schema)
  const values: Record<string, Value> = {}
  let start = 0
  while (start < search.length) {
    const next = search.indexOf('&', start)
    const end = next < 0 ? search.length : next
    if (end > start) readPair(byName, values, search.slice(start, end))
    start = end + 1
  }
  for (const { name, default: fallback, isRequired } of fields) {
    if (values[name] !== undefined) continue
    if (fallback !== undefined) values[name] = fallback
    else if (isRequired) throw refuse(name, `\`${name}\` is missing.`)
  }
  // Every field was read by its own schema just above.
  return values as Static<S>
}

/** True if a property may be left out: it is optional, or its default is filled in. */
export const isOptional = (property: TSchema): boolean =>
  OptionalKind in property || property.default !== undefined

/** The texts that a schema of string literals allows; undefined for any other schema. */
export function literalsOf(property: TSchema): string[] | undefined {
  const options: unknown[] = Array.isArray(property.anyOf) ? property.anyOf : [property]
  const texts = options.map((option) => (option as TSchema).const as unknown)
  return texts.every((text) => typeof text === 'string') ? texts : undefined
}

function readPair(byName: Compiled['byName'], values: Record<string, Value>, pair: string): void {
  const split = pair.indexOf('=')
  const name = decode(split < 0 ? pair : pair.slice(0, split), undefined)
  const field = byName.get(name)
  if (field === undefined) throw refuseUnknown(name, byName)
  if (values[name] !== undefined) {
    throw refuse(name, `\`${name}\` is repeated. Send it once.`)
  }
  const text = split < 0 ? '' : decode(pair.slice(split + 1), name)
  const value = field.read(text)
  if (typeof value === 'object') {
    throw refuse(name, `\`${name}\` is "${excerpt(text)}", but must be ${value.expected}.`)
  }
  values[name] = value
}

function decode(text: string, name: string | undefined): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  const decoded = decodePart(spaced)
  if (decoded !== undefined) return decoded
  const param = name ?? excerpt(text)
  const message = `The percent-encoding of \`${param}\` is malformed. Encode a % itself as %25.`
  throw refuse(param, message)
}

const refuse = (param: string, message: string) =>
  new AppError('invalid_parameter', message, { param })

function refuseUnknown(name: string, byName: Compiled['byName']): AppError {
  const known = [...byName.keys()].map((key) => `\`${key}\``).join(', ')
  const param = excerpt(name)
  const hint = known === '' ? 'This route has no parameters.' : `Known are ${known}.`
  return refuse(param, `\`${param}\` is not a parameter of this route. ${hint}`)
}

function compiledOf(schema: TObject): Compiled {
  const existing = compiledSchemas.get(schema)
  if (existing) return existing
  const fields = Object.entries(schema.properties).map(([name, property]) => ({
    name,
    read: toRead(name, property),
    default: property.default as Value | undefined,
    isRequired: !isOptional(property),
  }))
  const compiled = { fields, byName: new Map(fields.map((field) => [field.name, field])) }
  compiledSchemas.set(schema, compiled)
  return compiled
}

function toRead(name: string, property: TSchema): Read {
  if (property.type === 'integer') return integerRead(property)
  const literals = literalsOf(property)
  if (literals) return literalRead(literals)
  if (property.type === 'string') return stringRead(property)
  throw new Error(`parseQuery cannot read the schema of \`${name}\`.`)
}

/** Canonical decimal digits only: one value has one spelling, so caches and cursors agree. */
function integerRead({ minimum, maximum }: TSchema): Read {
  const min: number = minimum ?? 0
  const max: number = maximum ?? Number.MAX_SAFE_INTEGER
  const refusal = { expected: `an integer from ${min} to ${max} in plain decimal digits` }
  return (text) => {
    if (!isCanonicalInteger(text)) return refusal
    const value = Number(text)
    return value >= min && value <= max ? value : refusal
  }
}

// Digits of 2^53 - 1; the bounds refuse what is larger.
const INTEGER_LENGTH_MAX = 16
const CHAR_0 = 48
const CHAR_9 = 57

function isCanonicalInteger(text: string): boolean {
  const { length } = text
  if (length === 0 || length > INTEGER_LENGTH_MAX) return false
  if (length > 1 && text.charCodeAt(0) === CHAR_0) return false
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code < CHAR_0 || code > CHAR_9) return false
  }
  return true
}

function literalRead(literals: readonly string[]): Read {
  const expected = literals.map((literal) => `\`${literal}\``).join(' or ')
  return (text) => (literals.includes(text) ? text : { expected })
}

function stringRead(schema: TSchema): Read {
  const { expected, accepts } = textRuleOf(schema)
  return (text) => (accepts(text) ? text : { expected })
}
