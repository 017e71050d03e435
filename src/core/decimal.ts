/** Prices and sizes are integer millionths, never floats: 2^53 - 1 are nine billion shares. */

/** An exact decimal as an integer count of millionths: 0.53 is 530_000. A safe integer. */
export type Millionths = number

export const MILLIONTHS_PER_UNIT = 1_000_000

const decimalPattern = /^(\d*)(?:\.(\d*))?$/

/** Reads `0.1` or `.48` exactly; undefined for a sign, an exponent, a seventh decimal, 2^53. */
export function parseMillionths(text: string): Millionths | undefined {
  const match = decimalPattern.exec(text)
  const whole = match?.[1] ?? ''
  const fraction = (match?.[2] ?? '').replace(/0+$/, '')
  if (!match || (whole === '' && (match[2] ?? '') === '') || fraction.length > 6) return undefined
  const millionths = Number(whole + fraction.padEnd(6, '0'))
  return Number.isSafeInteger(millionths) ? millionths : undefined
}

/** 0 to 999 with all three digits, for what prints numbers by the thousand. */
export const threeDigits: readonly string[] = Array.from({ length: 1000 }, (_, value) =>
  String(value).padStart(3, '0'),
)
/** The same without trailing zeros: 530 is `53`. */
const trimmedDigits = threeDigits.map((digits) => digits.replace(/0+$/, ''))

/** Prints the shortest decimal: 530_000 is `0.53`, 2_000_000 is `2`. */
export function formatMillionths(millionths: Millionths): string {
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

// Not in the type library yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown }
