/** The span of time that a request is about. */
import { AppError } from './errors.ts'
import { MOMENT_MS_MAX, toIso } from './time.ts'

/** `from` is inclusive, `to` exclusive; Unix milliseconds. */
export type RangeQuery = { from?: number; to?: number }

/** Throws `invalid_parameter` when the range is empty or reversed. */
export function readRange({ from, to }: RangeQuery): {
  fromMs: number | undefined
  toMs: number | undefined
} {
  if (from !== undefined && to !== undefined && to <= from) {
    throw new AppError(
      'invalid_parameter',
      `\`to\` is ${show(to)}, which is not after \`from\`, ${show(from)}. \`from\` is inclusive, \`to\` exclusive.`,
      { param: 'to' },
    )
  }
  return { fromMs: from, toMs: to }
}

const show = (timeMs: number): string => (timeMs <= MOMENT_MS_MAX ? toIso(timeMs) : String(timeMs))
