/** `X-Coverage`: whether what was asked for was recorded, so that an empty page is not taken for an empty book. */
import {
  type CoverageQuestion,
  type CoverageTally,
  shareOf,
  sumTallies,
  tallyCoverage,
} from '#src/core/coverage.ts'

import { textHeader } from './openapi-operation.ts'

const COVERAGE_HEADER = 'X-Coverage'

const coverageHeaderText = textHeader(
  'How much of the time asked for is recorded, over the outcomes asked for (RFC 9651): `full`; or `partial` or `none` with `covered` (share, rounded down), `gaps` (their number) and `reasons`; or `unknown`, without a share, if the trading window of a market is not known (send `from` and `to` to have its rows measured). An empty page of a `full` range is a fact; of any other it is not. GET …/coverage lists the gaps.',
)

/** The header for the documentation. */
export const coverageTexts = { [COVERAGE_HEADER]: coverageHeaderText }

/**
 * Says how far the spans of all questions are covered; `full`, or for example
 * `partial;covered=0.982;gaps=3;reasons="import venue_silent"`. Without a question, nothing is.
 */
export const coverageHeader = (...questions: CoverageQuestion[]): Record<string, string> =>
  tallyHeader(questions.map(tallyCoverage))

/** The same of what was added up already. */
export const tallyHeader = (tallies: readonly CoverageTally[]): Record<string, string> => ({
  [COVERAGE_HEADER]: toItem(sumTallies(tallies)),
})

function toItem({ totalMs, coveredMs, gaps }: CoverageTally): string {
  if (gaps.size === 0) return totalMs > 0 ? 'full' : 'none;covered=0.0;gaps=0;reasons=""'
  let count = 0
  for (const sum of gaps.values()) count += sum.count
  const found = `gaps=${count};reasons="${[...gaps.keys()].sort().join(' ')}"`
  if (coveredMs === 0 && gaps.has('window_unknown')) return `unknown;${found}`
  const thousandths = Math.floor(shareOf(coveredMs, totalMs) / 1000)
  // A decimal of RFC 9651 has at least one digit behind its point, and no idle ones.
  const share = (thousandths / 1000).toFixed(3).replace(/0{1,2}$/, '')
  return `${coveredMs === 0 ? 'none' : 'partial'};covered=${share};${found}`
}
