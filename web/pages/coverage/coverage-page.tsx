import { CoinTabs } from '../../parts/links.tsx'
import './coverage.css'
import { type Loaded, useApi } from '../../lib/api.ts'
import type { Coin, CoverageDay, Listed, Market } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { DAY_MS, startOfDay, toDay } from '../../lib/days.ts'
import { showDate } from '../../lib/format.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { Button } from '../../parts/button.tsx'
import { FigureMenu } from '../../parts/figure-menu.tsx'
import { Figure } from '../../parts/figure.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { Calendar, paintCalendar } from './calendar.tsx'
import { DayFiles } from './day-files.tsx'
import { Incidents } from './incidents.tsx'

const DAYS = 182
const NEWEST_WITH_BOOKS = { source: 'recorded', withBooks: true, limit: 1 }

/** Coverage of a coin by day, files of its days, and incidents of the server. */
export function CoveragePage({ params }: { params: Readonly<Record<string, string>> }) {
  const coin = params.coin ?? 'btc'
  const rights = useRights()
  const mayList = rights && mayRead(rights, { route: 'markets', coin })
  const { last, isKnown, source, timeframes, tools } = useRange(coin, mayList === true)
  const query = { from: last - (DAYS - 1) * DAY_MS, to: last + DAY_MS }
  const path = `/v1/${coin}/coverage`
  const { data, problem, reload, isLoading } = useApi<Listed<CoverageDay>>(
    mayList && isKnown ? path : undefined,
    query,
  )
  const days = isLoading ? [] : (data?.data ?? [])
  return (
    <div class="page">
      <div class="row spread">
        <h1>
          Coverage <SimulatedTag source={source} />
        </h1>
        <CoinTabs base="/coverage" coin={coin} />
      </div>
      <div class="row spread">
        <p class="note">
          A day is complete if every window of every length that began on it is fully recorded. Gaps
          are never filled; each is listed with its reason.
        </p>
        <div class="row">
          {tools}
          <FigureMenu />
        </div>
      </div>
      {mayList === false && <TierCard what={`The coverage of ${coin.toUpperCase()}`} />}
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {mayList !== false && !problem && (
        <Figure
          title={`${coin.toUpperCase()} coverage, ${DAYS} days up to ${showDate(last)}`}
          name={`coverage-${coin}`}
          {...(source === undefined ? {} : { source })}
          calls={[{ path, query }]}
          canvas={() => paintCalendar(days)}
          rows={() => toRows(days)}
        >
          <Calendar key={last} coin={coin} days={days} />
        </Figure>
      )}
      {rights && isKnown && <DayFiles key={coin} {...{ coin, rights, timeframes }} />}
      {isKnown && <Incidents lastMs={last} />}
    </div>
  )
}

/** The last day that is shown: that of the address, else today, or when recording ended. */
function useRange(coin: string, mayList: boolean) {
  const coins = useApi<Listed<Coin>>('/v1/coins')
  const held = coins.data?.data.find(({ symbol }) => symbol === coin)
  // The newest markets may be simulated: days with recorded markets do not count these.
  const isMixed = held?.sources.length === 2
  const recorded = useApi<Listed<Market>>(
    isMixed && mayList ? `/v1/${coin}/markets` : undefined,
    NEWEST_WITH_BOOKS,
  )
  const isAnswered = ({ data, problem, isLoading }: Loaded<unknown>) =>
    !isLoading && (data !== undefined || problem !== undefined)
  const isKnown = isAnswered(coins) && (!isMixed || isAnswered(recorded))
  const [market] = recorded.data?.data ?? []
  const lastBook = isMixed ? market?.lastSnapshot : held?.lastSnapshot
  const today = startOfDay(nowMs())
  const newest = startOfDay(Date.parse(lastBook ?? '') || today)
  const named = startOfDay(Date.parse(useLocation().query.get('until') ?? '') || Number.NaN)
  const usual = newest <= today - DAYS * DAY_MS ? newest : today
  const last = named > 0 && named <= today ? named : usual
  const first = Date.parse(held?.firstSnapshot ?? '') || today
  const show = (ms: number) => setQuery({ until: ms === usual ? undefined : toDay(ms) })
  const isAtStart = first >= last - (DAYS - 1) * DAY_MS
  const tools = (
    <span class="row">
      <Button
        {...{ text: 'Earlier', look: 'tiny', disabled: isAtStart }}
        onClick={() => show(last - DAYS * DAY_MS)}
      />
      <Button
        {...{ text: 'Later', look: 'tiny', disabled: last >= today }}
        onClick={() => show(Math.min(today, last + DAYS * DAY_MS))}
      />
    </span>
  )
  /** The source that the days count: simulated markets as long as none was recorded. */
  const source = held?.sources.includes('recorded') ? 'recorded' : held?.sources[0]
  const timeframes = (held?.timeframes ?? []).map(({ timeframe }) => timeframe)
  return { last, isKnown, source, timeframes, tools }
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
