/** Prices and sizes are integers of millionths, never floats: 2^53 - 1 is nine billion shares. */

/** An exact decimal as an integer count of millionths: 0.53 is 530_000. A safe integer. */
export type Millionths = number

export const MILLIONTHS_PER_UNIT = 1_000_000

const ZERO = '0'.charCodeAt(0)
const DECIMALS_MAX = 6
/** Multiplier that turns a fraction with this many digits into millionths. */
const scales = [0, 1e5, 1e4, 1e3, 100, 10, 1]

/** Reads `0.1` or `.48` exactly; undefined for a sign, an exponent, a seventh decimal, 2^53. */
export function parseMillionths(text: string): Millionths | undefined {
  const dot = text.indexOf('.')
  const wholeEnd = dot < 0 ? text.length : dot
  let end = text.length
  while (end > wholeEnd + 1 + DECIMALS_MAX && text.charCodeAt(end - 1) === ZERO) end--
  const decimals = Math.max(0, end - wholeEnd - 1)
  if (wholeEnd + decimals === 0) return undefined
  const fraction = readDigits(text, wholeEnd + 1, end) * (scales[decimals] ?? Number.NaN)
  const millionths = readDigits(text, 0, wholeEnd) * MILLIONTHS_PER_UNIT + fraction
  return Number.isSafeInteger(millionths) ? millionths : undefined
}

/** Reads the digits in part of a text; NaN if it holds anything else. */
function readDigits(text: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** 0 to 999 with three digits, to print numbers three digits at a time. */
export const threeDigits: readonly string[] = Array.from({ length: 1000 }, (_, value) =>
  String(value).padStart(3, '0'),
)
/** The same without trailing zeros: 530 is `53`. */
const trimmedDigits = threeDigits.map((digits) => digits.replace(/0+$/, ''))

/** Prints the shortest decimal: 530_000 is `0.53`, 2_000_000 is `2`, -10_000 is `-0.01`. */
export function formatMillionths(millionths: Millionths): string {
  if (millionths < 0) return `-${formatMillionths(-millionths)}`
  const fraction = millionths % MILLIONTHS_PER_UNIT
  const whole = (millionths - fraction) / MILLIONTHS_PER_UNIT
  if (fraction === 0) return String(whole)
  const rest = fraction % 1000
  const thousandths = (fraction - rest) / 1000
  return rest === 0
    ? `${whole}.${trimmedDigits[thousandths]}`
    : `${whole}.${threeDigits[thousandths]}${trimmedDigits[rest]}`
}

/** A number that `JSON.stringify` prints exactly as `text` (JSON.rawJSON of ES2026), or null. */
export const exactNumber = (text: string | undefined): unknown =>
  text === undefined ? null : rawJson(text)

export const exactMillionths = (millionths: Millionths | undefined): unknown =>
  exactNumber(millionths === undefined ? undefined : formatMillionths(millionths))

// Missing from TypeScript's library types.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown }
