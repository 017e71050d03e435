/**
 * Whether what was asked for was recorded, in one line for a header, so that an empty page is not
 * taken for an empty book: a structured item (RFC 9651).
 */
import {
  type CoverageQuestion,
  type CoverageTally,
  shareOf,
  sumTallies,
  tallyCoverage,
} from './coverage.ts'

/**
 * Says how far the spans of all questions are covered; `full`, or for example
 * `partial;covered=0.982;gaps=3;reasons="import venue_silent"`. Without a question, nothing is.
 */
export const coverageText = (...questions: CoverageQuestion[]): string =>
  tallyText(questions.map(tallyCoverage))

/** The same of what was added up already. */
export function tallyText(tallies: readonly CoverageTally[]): string {
  const { totalMs, coveredMs, gaps } = sumTallies(tallies)
  if (gaps.size === 0) return totalMs > 0 ? 'full' : 'none;covered=0.0;gaps=0;reasons=""'
  let count = 0
  for (const sum of gaps.values()) count += sum.count
  const found = `gaps=${count};reasons="${[...gaps.keys()].sort().join(' ')}"`
  if (coveredMs === 0 && gaps.has('window_unknown')) return `unknown;${found}`
  const thousandths = Math.floor(shareOf(coveredMs, totalMs) / 1000)
  // A decimal of RFC 9651 has at least one digit after its point, and no idle ones.
  const share = (thousandths / 1000).toFixed(3).replace(/0{1,2}$/, '')
  return `${coveredMs === 0 ? 'none' : 'partial'};covered=${share};${found}`
}
