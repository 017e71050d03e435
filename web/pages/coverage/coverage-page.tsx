import { CoinTabs } from '../../parts/links.tsx'
import './coverage.css'
import { useApi } from '../../lib/api.ts'
import type { CoverageDay, Listed } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { Figure } from '../../parts/figure.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { Calendar, paintCalendar } from './calendar.tsx'

const DAYS = 182
const DAY_MS = 86_400_000

/** What is recorded of a coin and what is not, day by day. */
export function CoveragePage({ params }: { params: Readonly<Record<string, string>> }) {
  const coin = params.coin ?? 'btc'
  const today = Math.floor(nowMs() / DAY_MS) * DAY_MS
  const query = { from: today - (DAYS - 1) * DAY_MS, to: today + DAY_MS }
  const path = `/v1/${coin}/coverage`
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin })
  const { data, problem, reload, isLoading } = useApi<Listed<CoverageDay>>(
    mayList ? path : undefined,
    query,
  )
  const days = isLoading ? [] : (data?.data ?? [])
  return (
    <div class="page">
      <div class="row spread">
        <h1>Coverage</h1>
        <CoinTabs base="/coverage" coin={coin} />
      </div>
      <p class="note">
        A day is whole when every window of every length that began on it is there and fully
        recorded. What is missing is never filled: a gap is a gap, with its reason.
      </p>
      {mayList === false && <TierCard what={`The coverage of ${coin.toUpperCase()}`} />}
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {mayList !== false && !problem && (
        <Figure
          title={`What is recorded of ${coin.toUpperCase()}, the last ${DAYS} days`}
          name={`coverage-${coin}`}
          calls={[{ path, query }]}
          canvas={() => paintCalendar(days)}
          rows={() => toRows(days)}
        >
          <Calendar days={days} />
        </Figure>
      )}
    </div>
  )
}

function* toRows(days: readonly CoverageDay[]) {
  yield ['day', 'state', 'covered', 'markets', 'gaps']
  for (const { day, state, covered, markets, gaps } of days) {
    yield [
      day,
      state,
      covered,
      markets,
      gaps.map(({ reason, count }) => `${reason}:${count}`).join(' '),
    ]
  }
}
