/**
 * Parsers for values that an operator gives on the command line or on a page, with the same errors.
 */

import { type Millionths, parseMillionths } from '#src/domain/decimal.ts'
import { holdsKey } from '#src/domain/selling/api-key.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { toPrintable } from '#src/platform/printable.ts'

export const wrongValue = (param: string, message: string): Fault =>
  new Fault(message, { kind: 'wrong_value', param })
/** The fault of a value that conflicts with the current state. */
export const wrongState = (param: string, message: string): Fault =>
  new Fault(message, { kind: 'wrong_state', param })

const refuse = (message: string) => wrongValue('', message)

const TEXT_LENGTH_MAX = 100
const ALL = 'all'
/** The word that removes a value. */
const NONE = 'none'
export type OrNone<T> = T | typeof NONE

export const integerIn =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    const least = min.toLocaleString('en-US')
    const most = max.toLocaleString('en-US')
    throw refuse(`It must be an integer from ${least} to ${most}.`)
  }

/** Creates a parser of `a,b` or `all`; the list is in the order of `known`, without repetitions. */
export const listOf =
  <T extends string>(known: readonly T[]) =>
  (text: string): T[] => {
    if (text === ALL) return [...known]
    const items = new Set(text.split(',').map((item) => item.trim()))
    const unknown = [...items].find((item) => !known.some((name) => name === item))
    if (unknown === undefined) return known.filter((name) => items.has(name))
    throw refuse(
      `${JSON.stringify(unknown)} is none of ${known.join(', ')}; all means all of them.`,
    )
  }

/** Parses a name or a note: one line, at most 100 characters. */
export function readText(text: string): string {
  const trimmed = text.trim()
  if (holdsKey(trimmed)) throw refuse('It must not contain an API key: it is stored in plain text.')
  if (trimmed !== '' && trimmed.length <= TEXT_LENGTH_MAX && toPrintable(trimmed) === trimmed) {
    return trimmed
  }
  throw refuse(`It must be one line of 1 to ${TEXT_LENGTH_MAX} characters.`)
}

/** Parses an EVM address in any case; returns it in lower case. */
export function readAddress(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase()
  throw refuse('It must be 0x and 40 hex digits.')
}

export function readPrice(text: string): Millionths {
  const millionths = parseMillionths(text)
  if (millionths !== undefined) return millionths
  throw refuse('It must be a plain decimal of at most six decimals, such as 49.')
}

export const orNone =
  <T>(read: (text: string) => T) =>
  (text: string): OrNone<T> =>
    text === NONE ? NONE : read(text)

/** The new value: the one before if none is given, and undefined for `none`. */
export function given<T>(value: OrNone<T> | undefined, before: T | undefined): T | undefined {
  if (value === undefined) return before
  return value === NONE ? undefined : value
}

/** Runs a parser so that its fault names the value. */
export function readAs<T>(param: string, read: (text: string) => T, text: string): T {
  try {
    return read(text)
  } catch (error) {
    if (!isFault(error, 'wrong_value', 'wrong_state')) throw error
    throw new Fault(`\`${param}\`: ${error.message}`, { kind: error.kind, param, cause: error })
  }
}
