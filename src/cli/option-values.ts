/** Readers of option values. What they refuse, commander reports with the option's name. */
import { InvalidArgumentError } from 'commander'

import { type Millionths, parseMillionths } from '#src/core/decimal.ts'
import { holdsKey } from '#src/selling/api-key.ts'

import { formatCount } from './table.ts'

const TEXT_LENGTH_MAX = 100
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Takes a value away where `none` says so. */
export type OrNone<T> = T | typeof NONE
const NONE = 'none'

const ALL = 'all'

/** Creates a reader of integers from `min` to `max`. */
export const integerIn =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `It must be an integer from ${formatCount(min)} to ${formatCount(max)}.`,
    )
  }

/** Creates a reader of `a,b` or `all`; the list comes in the order of `known`, each item once. */
export const listOf =
  <T extends string>(known: readonly T[]) =>
  (text: string): T[] => {
    if (text === ALL) return [...known]
    const items = new Set(text.split(',').map((item) => item.trim()))
    const unknown = [...items].find((item) => !known.some((name) => name === item))
    if (unknown === undefined) return known.filter((name) => items.has(name))
    throw new InvalidArgumentError(
      `${JSON.stringify(unknown)} is none of ${known.join(', ')}; all means all of them.`,
    )
  }

/** Reads a name or a note: one line, at most 100 characters. */
export function parseText(text: string): string {
  const trimmed = text.trim()
  if (holdsKey(trimmed))
    throw new InvalidArgumentError('It must not hold a key: it is kept in clear.')
  if (trimmed !== '' && trimmed.length <= TEXT_LENGTH_MAX && !unprintable.test(trimmed)) {
    return trimmed
  }
  throw new InvalidArgumentError(`It must be one line of 1 to ${TEXT_LENGTH_MAX} characters.`)
}

/** Reads an EVM address of any case; it comes in lower case. */
export function parseAddress(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError('It must be 0x and 40 hex digits.')
}

/** Reads an amount of USDC. */
export function parsePrice(text: string): Millionths {
  const millionths = parseMillionths(text)
  if (millionths !== undefined) return millionths
  throw new InvalidArgumentError('It must be a plain decimal of at most six decimals, such as 49.')
}

/** Accepts `none` beside what `parse` reads. */
export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): OrNone<T> =>
    text === NONE ? NONE : parse(text)

/** What holds after an option that may be absent or `none`. */
export function given<T>(option: OrNone<T> | undefined, before: T | undefined): T | undefined {
  if (option === undefined) return before
  return option === NONE ? undefined : option
}
