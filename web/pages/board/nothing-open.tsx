/** Replaces the board while no window is open: recorded windows with links. */

import { useEffect } from 'preact/hooks'

import { ProbabilityChart } from '../../charts/small-charts.tsx'
import { rateStore, request, useApi, useAsked } from '../../lib/api.ts'
import type { CoverageDay, Listed, Market } from '../../lib/bodies.ts'
import { serverNowMs } from '../../lib/clock.ts'
import { bestCovered } from '../../lib/covered.ts'
import { DAY_MS, startOfDay, toDay } from '../../lib/days.ts'
import { facts } from '../../lib/facts.ts'
import { showChange, showDate, showShare } from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { useStore } from '../../lib/store.ts'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { moveOf, WindowList } from './away.tsx'

/** The windows of a coin on a day, and some upcoming ones. */
const MARKETS_MAX = 450
const STRIP_DAYS = 60

type Props = {
  rights: Rights
  coin: string | undefined
  timeframe: string | undefined
  /** Called when the list or its problem is shown. */
  onSettled: () => void
}

export function NothingOpen({ rights, coin, timeframe, onSettled }: Props) {
  const coins = Object.keys(facts.coins ?? {}).filter(
    (each) =>
      (coin === undefined || each === coin) && mayRead(rights, { route: 'markets', coin: each }),
  )
  const { data, problem, reload } = useAsked({
    // Not an address, but a name for several lists.
    url: coins.length > 0 ? `${coins.join()} ${timeframe}` : undefined,
    ask: (_, { signal }) => readRecorded(coins, timeframe, signal),
    whose: useStore(apiKey.store),
  })
  const isSettled = data !== undefined || problem !== undefined || coins.length === 0
  useEffect(() => {
    if (isSettled) onSettled()
  }, [isSettled])
  const market = facts.sample?.market
  const what = [coin?.toUpperCase(), timeframe, 'window'].filter((each) => each !== undefined)
  return (
    <div class="card-body stack">
      <h2>History</h2>
      <p class="note">
        No {what.join(' ')} is open now.{' '}
        {market ? (
          <>
            Every book of a finished one is in the{' '}
            <a href={`/markets/${market.symbol}/${market.conditionId}`}>sample market</a>.
          </>
        ) : (
          facts.sample && (
            <>
              <a href="/docs/access#without-a-key">The sample</a> can be read without a key.
            </>
          )
        )}
      </p>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {data?.finished.length === 0 && <p class="note">No finished window is recorded either.</p>}
      {data && <Strips data={data} />}
      <div class="away finished">
        <WindowList
          title={`Largest moves of ${showDate(data?.lastDayMs ?? 0)}`}
          markets={data?.moved ?? []}
        >
          {(each) => <MoveChart market={each} rights={rights} />}
        </WindowList>
        <WindowList title="Newest finished windows" markets={data?.finished ?? []}>
          {(each) => <MarketState market={each} />}
        </WindowList>
      </div>
    </div>
  )
}

type Recorded = {
  /** Windows with books that are over, the newest first. */
  finished: Market[]
  lastDayMs: number
  /** Windows of the last day, by the move of the coin. */
  moved: Market[]
  /** By coin. */
  coverage: [coin: string, days: CoverageDay[]][]
}

/** Throws if a list of windows cannot be read; other failures leave a part empty. */
async function readRecorded(
  coins: readonly string[],
  timeframe: string | undefined,
  signal: AbortSignal,
): Promise<Recorded> {
  const query = { withBooks: true, limit: MARKETS_MAX, timeframe }
  const listOf = async (coin: string) =>
    (await request<Listed<Market>>(`/v1/${coin}/markets`, { query, signal })).data
  const newest = await Promise.all(coins.map(listOf))
  const finished = newest
    .flat()
    .filter(isFinished)
    .toSorted((a, b) => (b.windowEnd ?? '').localeCompare(a.windowEnd ?? ''))
  const lastDayMs = startOfDay(Date.parse(finished[0]?.windowStart ?? '') || serverNowMs())
  const held = coins.filter((_, index) => (newest[index]?.length ?? 0) > 0)
  // One coin after the other: without a key, four long requests may run at once.
  const coverage = await Array.fromAsync(held, (coin) =>
    readDays(coin, lastDayMs, signal).catch(() => undefined),
  )
  const moved = finished
    .filter((market) => Date.parse(market.windowStart ?? '') >= lastDayMs && moveOf(market) !== 0)
    .toSorted((a, b) => Math.abs(moveOf(b)) - Math.abs(moveOf(a)))
  return { finished, lastDayMs, moved, coverage: coverage.filter((each) => each !== undefined) }
}

async function readDays(
  coin: string,
  lastDayMs: number,
  signal: AbortSignal,
): Promise<[string, CoverageDay[]]> {
  const query = { from: lastDayMs - (STRIP_DAYS - 1) * DAY_MS, to: lastDayMs + DAY_MS }
  const { data } = await request<Listed<CoverageDay>>(`/v1/${coin}/coverage`, { query, signal })
  return [coin, data]
}

/** The history of a window may be final before its end. */
const isFinished = ({ status, windowEnd }: Market): boolean =>
  (status === 'closed' || status === 'resolved') &&
  windowEnd !== null &&
  Date.parse(windowEnd) <= serverNowMs()

const SQUARE = 10
const PITCH = 12

/** A square for each day, higher where more of it is recorded. */
function Strips({ data: { coverage, lastDayMs } }: { data: Recorded }) {
  if (coverage.length === 0) return null
  return (
    <section class="strips">
      <h3>
        Recorded in the {STRIP_DAYS} days up to {showDate(lastDayMs)}
      </h3>
      {coverage.map(([coin, days]) => (
        <a key={coin} class="strip" href={`/coverage/${coin}?until=${toDay(lastDayMs)}`}>
          <b>{coin.toUpperCase()}</b>
          <svg
            viewBox={`0 0 ${STRIP_DAYS * PITCH} ${2 * SQUARE}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={stripText(days)}
          >
            {days.map(({ day, covered }, index) => {
              const height = covered === null ? 1 : Math.max(1, 2 * SQUARE * covered)
              return (
                <rect
                  key={day}
                  class={(covered ?? 0) > 0 ? 'held' : 'missing'}
                  {...{ x: index * PITCH, y: 2 * SQUARE - height, width: SQUARE, height }}
                />
              )
            })}
          </svg>
        </a>
      ))}
    </section>
  )
}

function stripText(days: readonly CoverageDay[]): string {
  const held = days.filter(({ covered }) => (covered ?? 0) > 0)
  const last = held.at(-1)
  return `${held.length} of ${days.length} days recorded${last ? `, the last one ${showShare(last.covered)}` : ''}`
}

/** The lowest rate limit at which each of these windows may send a request. */
const CHARTS_LIMIT_MIN = 60

type Bar = { outcome: string; start: string; close: number | null }
/** Bars that a chart of a few pixels can show. */
const steps: Readonly<Record<string, string>> = {
  '5m': '10s',
  '15m': '15s',
  '1h': '1m',
  '4h': '5m',
  '1d': '30m',
}

/** The move of the coin, and the probability of Up over the window. */
function MoveChart({ market, rights }: { market: Market; rights: Rights }) {
  const { symbol, conditionId, timeframe, windowStart, windowEnd } = market
  const { limit = 0 } = useStore(rateStore) ?? {}
  // Visitors without a key share the rate limit of their network address.
  const hasKey = useStore(apiKey.store) !== undefined
  const isOpen =
    hasKey &&
    limit >= CHARTS_LIMIT_MIN &&
    mayRead(rights, { route: 'prices', coin: symbol, market: conditionId })
  const outcome = bestCovered(market)
  const path = `/v1/${symbol}/markets/${conditionId}/prices`
  const { data } = useApi<Listed<Bar>>(isOpen ? path : undefined, {
    interval: steps[timeframe],
    outcome,
    from: windowStart ?? undefined,
    to: windowEnd ?? undefined,
  })
  const change = moveOf(market)
  const line = {
    fromMs: Date.parse(windowStart ?? ''),
    toMs: Date.parse(windowEnd ?? ''),
    mid: (data?.data ?? []).map(({ start, close }): [number, number | null] => [
      Date.parse(start),
      close === null || outcome === 'up' ? close : 1 - close,
    ]),
  }
  return (
    <span class="num move-chart">
      {isOpen && <ProbabilityChart line={line} label="Probability of Up" />}
      <span class={change < 0 ? 'down' : 'up'}>{showChange(change)}</span>
    </span>
  )
}
