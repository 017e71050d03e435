/** Readers for members of foreign JSON. They throw a `record` fault with the path of the member. */

import { type Millionths, MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import {
  assetIdPattern,
  assetIdRule,
  conditionIdRule,
  type FeeSchedule,
  type Outcome,
  parseConditionId,
} from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { VENUE_OPENED_MS } from '#src/domain/time.ts'
import { toTimestampMs } from '#src/domain/wire/snapshot-values.ts'
import { isRecord } from '#src/platform/record.ts'

export type JsonObject = { readonly [key: string]: unknown }

/** Members whose numbers stay text, because a float could lose digits. */
const exactKeys = new Set([
  'priceToBeat',
  'finalPrice',
  'orderPriceMinTickSize',
  'lastTradePrice',
  'openPrice',
  'closePrice',
  'value',
  'full_accuracy_value',
  'strike',
  'price',
  'size',
  'minimum_tick_size',
  'mts',
  'asset',
  'asset_id',
  'token_id',
])

/** True if an object has the members of a kind, and none that make it another kind. */
export const fitsKind = (
  kind: { required: readonly (readonly string[])[]; forbidden: readonly string[] },
  value: JsonObject,
): boolean =>
  kind.required.every((members) => members.some((member) => Object.hasOwn(value, member))) &&
  !kind.forbidden.some((member) => Object.hasOwn(value, member))

/** Undefined for text that is not JSON. Exact members become the text of their number. */
export function parseJson(text: string): unknown {
  const keepExact = (key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && exactKeys.has(key) ? context?.source : value
  try {
    return JSON.parse(text, keepExact)
  } catch {
    return undefined
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

export type Reading = {
  nowMs: number
  /** True if a faulty optional fact refuses the whole object. */
  isStrict: boolean
}

export const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === ''

export function readText(value: unknown, path: string): string {
  const text = readOptionalText(value, path)
  if (text === undefined) throw recordFault(`${path}: missing`)
  return text
}

/** The longest accepted text of a member; the venue's longest have a tenth of that. */
const TEXT_LENGTH_MAX = 2000

export function readOptionalText(value: unknown, path: string): string | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'string') throw recordFault(`${path}: not a string`)
  if (value.length > TEXT_LENGTH_MAX) {
    throw recordFault(`${path}: longer than ${TEXT_LENGTH_MAX} characters`)
  }
  return value
}

export function readConditionId(value: unknown): string {
  const id = parseConditionId(readText(value, 'conditionId'))
  if (id === undefined) throw recordFault(`conditionId: not ${conditionIdRule}`)
  return id
}

export function readAssetId(value: unknown, path: string): string {
  const text = readText(value, path)
  if (!assetIdPattern.test(text)) throw recordFault(`${path}: not ${assetIdRule}`)
  return text
}

export function toOutcome(text: string): Outcome | undefined {
  const outcome = text.toLowerCase()
  return outcome === 'up' || outcome === 'down' ? outcome : undefined
}

export function readOutcome(value: unknown, path: string): Outcome {
  const outcome = toOutcome(readText(value, path))
  if (outcome === undefined) throw recordFault(`${path}: neither "up" nor "down"`)
  return outcome
}

/** Reads an ISO date-time in UTC, or Unix milliseconds or seconds, since the venue opened. */
export function readTimeMs(value: unknown, path: string): number {
  const text = typeof value === 'number' ? String(value) : readText(value, path)
  const timeMs = toTimestampMs(text, path)
  if (timeMs < VENUE_OPENED_MS) throw recordFault(`${path}: before 2020, when the venue opened`)
  return timeMs
}

export const readOptionalTimeMs = (value: unknown, path: string): number | undefined =>
  isAbsent(value) ? undefined : readTimeMs(value, path)

export const tryTimeMs = (value: unknown): number | undefined =>
  tolerate([], () => readOptionalTimeMs(value, ''))

/** Reads an optional fact; a fault of it goes to `faults`. */
export function tolerate<T>(faults: string[], read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isRecordFault(error)) throw error
    faults.push(error.message)
    return undefined
  }
}

/** Reads a price between 0 and 1, both exclusive. */
export function readPrice(value: unknown, path: string): Millionths {
  const price = parseMillionths(withoutExponent(readText(value, path)))
  if (price === undefined || price === 0 || price >= MILLIONTHS_PER_UNIT) {
    throw recordFault(`${path}: not a decimal between 0 and 1 with at most six digits`)
  }
  return price
}

/** Reads plain digits, all that the text has: `1e5` is `100000`. */
export function readOptionalDecimal(value: unknown, path: string): string | undefined {
  const text = readOptionalText(value, path)
  if (text === undefined) return undefined
  const plain = withoutExponent(text)
  if (/^\d{1,20}(\.\d{1,30})?$/.test(plain)) return plain
  throw recordFault(`${path}: not a plain decimal such as 72815.25`)
}

/**
 * Converts an integer count of 10^-`digits` into the digits of a decimal; undefined for anything
 * else. Trailing zeros stay: they are digits of the source.
 */
export function exactDecimal(value: unknown, digits: number): string | undefined {
  if (typeof value !== 'string') return undefined
  const plain = withoutExponent(value)
  if (!/^\d{1,40}(\.\d{1,30})?$/.test(plain)) return undefined
  if (digits === 0) return plain
  const padded = plain.padStart(digits + 1, '0')
  const text = `${padded.slice(0, -digits)}.${padded.slice(-digits)}`
  return text.replace(/\.?0+$/, '')
}

/** Removes the exponent of a JSON number; returns other texts unchanged. */
export function withoutExponent(text: string): string {
  const parts = /^(\d+)(?:\.(\d+))?e([+-]?\d{1,2})$/i.exec(text)
  if (parts === null) return text
  const [, whole = '', fraction = '', exponent = ''] = parts
  const point = whole.length + Number(exponent)
  const digits = (whole + fraction).padEnd(point, '0')
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0')
  const end = Math.max(point, 1)
  const rest = padded.slice(end)
  return `${padded.slice(0, end).replace(/^0+(?=\d)/, '')}${rest === '' ? '' : `.${rest}`}`
}

/** Reads a fee schedule in its canonical form. */
export function readOptionalFees(value: unknown, path: string): string | undefined {
  if (isAbsent(value)) return undefined
  if (!isRecord(value)) throw recordFault(`${path}: not an object`)
  const decimal = (name: 'rate' | 'exponent' | 'rebateRate'): string => {
    const member = value[name]
    const text = typeof member === 'number' ? String(member) : member
    const digits = readOptionalDecimal(text, `${path}.${name}`)
    if (digits === undefined) throw recordFault(`${path}.${name}: missing`)
    return digits
  }
  const { takerOnly } = value
  if (typeof takerOnly !== 'boolean') throw recordFault(`${path}.takerOnly: not true or false`)
  const fees: FeeSchedule = {
    rate: decimal('rate'),
    exponent: decimal('exponent'),
    takerOnly,
    rebateRate: decimal('rebateRate'),
  }
  return JSON.stringify(fees)
}

/** A longer delay or age is in another unit. */
const DELAY_MS_MAX = 60_000
const ORDER_AGE_MS_MAX = 3_600_000

/** Reads how long the venue holds back an order, in milliseconds. */
export const readOptionalDelay = (value: unknown, path: string): number | undefined =>
  readOptionalMs(value, path, DELAY_MS_MAX)

/** Reads how old an order must be before it can be cancelled, in milliseconds. */
export const readOptionalOrderAge = (value: unknown, path: string): number | undefined =>
  readOptionalMs(value, path, ORDER_AGE_MS_MAX)

function readOptionalMs(value: unknown, path: string, msMax: number): number | undefined {
  if (isAbsent(value)) return undefined
  const ms = Number(value)
  if (typeof value !== 'boolean' && Number.isSafeInteger(ms) && ms >= 0 && ms <= msMax) return ms
  throw recordFault(`${path}: not a number of milliseconds up to ${msMax}`)
}

/** Reads an array of strings, which may be JSON inside a string. */
export function readOptionalList(value: unknown, path: string): string[] | undefined {
  if (isAbsent(value)) return undefined
  const list = typeof value === 'string' ? parseJson(value) : value
  if (!Array.isArray(list)) throw recordFault(`${path}: not an array`)
  return list.map((item, index) => readText(item, `${path}[${index}]`))
}
