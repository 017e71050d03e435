/**
 * Refusals of what callers send. Elysia validates queries and bodies by the TypeBox schemas of
 * routes; here are what its query parser lets pass, and the words for what it refuses.
 */
import { OptionalKind, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import type { ValidationError } from 'elysia'

import { type AppError, parameterError } from '#src/domain/errors.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'

import { expectedBy } from './kinds.ts'
import { decodePart } from './target.ts'

/** Values of a query are strings, those of a body are JSON. */
type Part = 'query' | 'body'

/** True if a property may be left out: it is optional, or its default is filled in. */
export const isOptional = (property: TSchema): boolean =>
  OptionalKind in property || property.default !== undefined

/**
 * Refuses a repeated parameter, of which Elysia takes the last, and malformed percent-encoding,
 * which it leaves as it is. `search` is a query string without `?`.
 */
export function assertQuery(search: string): void {
  const isEncoded = search.includes('%')
  if (!isEncoded && !search.includes('&')) return
  const names: string[] = []
  for (let start = 0; start < search.length;) {
    const next = search.indexOf('&', start)
    const end = next < 0 ? search.length : next
    const split = search.indexOf('=', start)
    const isNamed = split >= 0 && split < end
    const sent = search.slice(start, isNamed ? split : end)
    const name = isEncoded ? decode(sent) : sent
    if (isEncoded && isNamed) decode(search.slice(split + 1, end), name)
    if (names.includes(name)) throw repeatedError(name)
    if (end > start) names.push(name)
    start = end + 1
  }
}

function decode(text: string, name?: string): string {
  const decoded = decodePart(text.replaceAll('+', ' '))
  if (decoded !== undefined) return decoded
  const param = excerpt(name ?? text)
  const message = `The percent-encoding of \`${param}\` is malformed. Encode a % itself as %25.`
  throw parameterError(param, message)
}

export function repeatedError(name: string): AppError {
  const param = excerpt(name)
  return parameterError(param, `\`${param}\` is repeated. Send it once.`)
}

/** Turns a refusal of Elysia into the `invalid_parameter` that says what to send. */
export const refusalOf = ({ type, validator, value }: ValidationError): AppError => {
  if ((type !== 'query' && type !== 'body') || !('Errors' in validator))
    throw new Error(`Elysia refused a ${type}.`)
  return toRefusal(validator.Errors(value), type)
}

/** The most errors that are looked at for a name that is unknown. */
const ERRORS_MAX = 64

function toRefusal(errors: Iterable<ValueError>, part: Part): AppError {
  let wrong: ValueError | undefined
  let missing: ValueError | undefined
  let count = 0
  for (const error of errors) {
    // A misspelt name is unknown, and the right one may be missing: the former is said.
    if (error.type === ValueErrorType.ObjectAdditionalProperties) return unknownError(error, part)
    if (error.value === undefined) missing ??= error
    else wrong ??= error
    if (++count === ERRORS_MAX) break
  }
  const first = wrong ?? missing
  if (first === undefined) throw new Error('A schema refused what it has nothing against.')
  const { type, value, schema } = first
  const param = nameOf(first.path)
  const expected = expectedBy(schema)
  if (type === ValueErrorType.ObjectRequiredProperty)
    return parameterError(param, `\`${param}\` is missing. Send ${expected}.`)
  // A member of a body may be a secret.
  const but = part === 'query' ? ` is "${excerpt(String(value))}", but` : ''
  return parameterError(param, `\`${param}\`${but} must be ${expected}.`)
}

/** The path `/list/3/name` as `list[3].name`. */
function nameOf(path: string): string {
  const [root = '', ...inner] = path
    .slice(1)
    .split('/')
    .map((part) => excerpt(part.replaceAll('~1', '/').replaceAll('~0', '~')))
  return inner.reduce((name, part) => name + (/^\d+$/.test(part) ? `[${part}]` : `.${part}`), root)
}

function unknownError({ path, schema }: ValueError, part: Part): AppError {
  const param = nameOf(path)
  const owner = nameOf(path.slice(0, path.lastIndexOf('/')))
  const member = owner === '' ? 'member of this object' : `member of \`${owner}\``
  return unknownNameError(param, part === 'query' ? 'parameter of this route' : member, schema)
}

export function unknownNameError(param: string, what: string, { properties }: TSchema): AppError {
  const known = Object.keys(properties).map((name) => `\`${name}\``)
  const hint =
    known.length === 0 ? 'This route has no parameters.' : `Known are ${known.join(', ')}.`
  return parameterError(param, `\`${param}\` is not a ${what}. ${hint}`)
}

const compiled = new WeakMap<TObject, TypeCheck<TObject>>()

function checkOf(schema: TObject): TypeCheck<TObject> {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const check = TypeCompiler.Compile({ ...schema, additionalProperties: false })
  compiled.set(schema, check)
  return check
}

/**
 * Reads by a schema as Elysia does, for what is not the query or body of a route: messages of the
 * stream and arguments of tools.
 */
export function readBy<S extends TObject>(
  schema: S,
  sent: Readonly<Record<string, unknown>>,
  part: Part,
): Static<S> {
  const check = checkOf(schema)
  const value = Value.Default(schema, { ...sent })
  if (!check.Check(value)) throw toRefusal(check.Errors(value), part)
  return check.Decode(value)
}
