/** Events since the last visit: resolved windows, the largest moves, gaps. */

import { useEffect, useState } from 'preact/hooks'

import { request, useAsked } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { bestCovered, coveredOf, showCovered } from '../../lib/covered.ts'
import { DAY_MS, startOfDay } from '../../lib/days.ts'
import { facts } from '../../lib/facts.ts'
import {
  showChange,
  showCount,
  showDayMinute,
  showMinute,
  showSome,
  showWindow,
} from '../../lib/format.ts'
import { createKept } from '../../lib/kept.ts'
import { apiKey } from '../../lib/key.ts'
import { pollMs } from '../../lib/poll.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { useSeen } from '../../lib/seen.ts'
import { useStore } from '../../lib/store.ts'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { pinned, seriesOf } from './order.ts'

const HOUR_MS = 3_600_000
/** A shorter absence does not count. */
const AWAY_MS_MIN = 5 * 60_000
const AWAY_MS_MAX = 7 * DAY_MS
const MARKETS_A_PAGE = 1000
/** Pages of a coin. Seven days have 2,900 windows of a coin, which are three pages. */
const PAGES_MAX = 5
const SHOWN_MAX = 5
const NOTE_MS = 60_000
const RENEW_MS = 60_000

/** When the board was last looked at, Unix milliseconds; 0 before the first time. */
const lastVisit = createKept<number>('bookfeed.visit', (stored) =>
  typeof stored === 'number' ? stored : 0,
)

const spans = [
  ['visit', 'Since your last visit'],
  ['hour', 'Last hour'],
  ['today', 'Today'],
] as const
type SpanName = (typeof spans)[number][0]

export function Away({ rights, coin }: { rights: Rights; coin: string | undefined }) {
  const visitMs = useLastVisit()
  const [chosen, choose] = useState<SpanName>()
  const [place, isSeen] = useSeen<HTMLDivElement>()
  const [openedMs] = useState(nowMs)
  const hasVisit = visitMs > 0 && openedMs - visitMs >= AWAY_MS_MIN
  const span = chosen ?? (hasVisit ? 'visit' : 'hour')
  const fromMs = () =>
    ({
      visit: Math.max(visitMs, openedMs - AWAY_MS_MAX),
      hour: nowMs() - HOUR_MS,
      today: Math.floor(nowMs() / DAY_MS) * DAY_MS,
    })[span]
  const coins = Object.keys(facts.coins ?? {}).filter(
    (each) =>
      (coin === undefined || each === coin) && mayRead(rights, { route: 'markets', coin: each }),
  )
  const { data, problem, isLoading, reload } = useAsked({
    // Not an address, but a name for several lists.
    url: isSeen && coins.length > 0 ? `${span} ${coins.join()}` : undefined,
    ask: (_, { signal }) => readResolved(coins, fromMs(), signal),
    whose: useStore(apiKey.store),
    everyMs: renewalMs,
  })
  return (
    <div ref={place} class="away-place" aria-busy={isLoading}>
      <Card
        title="What happened"
        tools={
          <Choice
            label="Time"
            options={hasVisit ? spans : spans.slice(1)}
            value={span}
            onChoose={choose}
          />
        }
      >
        {coins.length === 0 && <p class="note">Your tier does not include this coin.</p>}
        {problem && <ProblemCard problem={problem} onRetry={reload} />}
        {data && <Summary resolved={data} />}
        {data && span === 'visit' && visitMs < data.fromMs && (
          <p class="note">Your last visit was more than seven days ago.</p>
        )}
        {data === undefined && problem === undefined && coins.length > 0 && (
          <p class="note" aria-busy="true">
            Loading…
          </p>
        )}
      </Card>
    </div>
  )
}

/** The time of the last visit. Stores the time of this one. */
function useLastVisit(): number {
  const [before] = useState(lastVisit.store.get)
  useEffect(() => {
    const note = () => {
      if (document.visibilityState === 'visible') lastVisit.set(nowMs())
    }
    const timer = setInterval(note, NOTE_MS)
    window.addEventListener('pagehide', note)
    return () => {
      clearInterval(timer)
      window.removeEventListener('pagehide', note)
      note()
    }
  }, [])
  return before
}

type Resolved = {
  /** By coin, the newest first. */
  markets: Market[]
  fromMs: number
  /** Start of the counted windows; later than `fromMs` if there were too many. */
  countedFromMs: number
  /** Coins that could not be read. */
  unread: string[]
  requests: number
}

/** Windows that began since a moment and are resolved. Throws if no coin can be read. */
async function readResolved(
  coins: readonly string[],
  fromMs: number,
  signal: AbortSignal,
): Promise<Resolved> {
  const resolved: Resolved = { markets: [], fromMs, countedFromMs: fromMs, unread: [], requests: 0 }
  const failures: unknown[] = []
  const readCoin = async (coin: string) => {
    const found: Market[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const query = { from: fromMs, status: 'resolved', limit: MARKETS_A_PAGE, cursor }
      resolved.requests++
      const page = await request<Listed<Market>>(`/v1/${coin}/markets`, { query, signal })
      found.push(...page.data)
      cursor = page.nextCursor ?? undefined
      if (cursor === undefined) break
    }
    resolved.markets.push(...found)
    if (cursor === undefined) return
    const oldestMs = Date.parse(found.at(-1)?.windowStart ?? '') || fromMs
    resolved.countedFromMs = Math.max(resolved.countedFromMs, oldestMs)
  }
  // One coin after the other: without a key, four long requests may run at once.
  await Array.fromAsync(coins, (coin) =>
    readCoin(coin).catch((error: unknown) => {
      resolved.unread.push(coin)
      failures.push(error)
    }),
  )
  if (failures.length === coins.length) throw failures[0]
  return resolved
}

/** Each minute, or less often where that would take too much of the visitor's allowance. */
const renewalMs = (resolved: Resolved | undefined): number =>
  Math.max(RENEW_MS, pollMs(resolved?.requests))

export const moveOf = ({ strike, finalPrice }: Market): number =>
  strike === null || finalPrice === null ? 0 : finalPrice / strike - 1

const gapsOf = ({ outcomes }: Market): number =>
  outcomes.reduce((sum, { coverage }) => sum + (coverage.gaps ?? 0), 0)

const isRecorded = ({ outcomes }: Market): boolean =>
  outcomes.some(({ coverage }) => (coverage.covered ?? 0) > 0)

/** The sentence in place of a list of gaps. */
function noGapsText({ markets }: Resolved): string {
  const recorded = markets.filter(isRecorded)
  if (recorded.length === 0) return 'Nothing was recorded in this time.'
  const isSimulated = recorded.every(({ source }) => source === 'simulated')
  const windows = isSimulated
    ? showSome(recorded.length, 'simulated window')
    : `${showSome(recorded.length, 'window')} with books`
  const coins = [...new Set(recorded.map(({ symbol }) => symbol.toUpperCase()))]
  return `No gaps in ${windows}, of ${coins.toSorted().join(', ')}.`
}

function Summary({ resolved }: { resolved: Resolved }) {
  const { markets, fromMs, countedFromMs, unread } = resolved
  const count = (result: string) => markets.filter((each) => each.result === result).length
  const first = pinned.store.get()
  const newest = markets
    .toSorted((a, b) => (b.windowEnd ?? '').localeCompare(a.windowEnd ?? ''))
    .toSorted((a, b) => Number(first.includes(seriesOf(b))) - Number(first.includes(seriesOf(a))))
  const moved = markets
    .filter((market) => moveOf(market) !== 0)
    .toSorted((a, b) => Math.abs(moveOf(b)) - Math.abs(moveOf(a)))
  const holed = markets
    .filter((market) => isRecorded(market) && gapsOf(market) > 0)
    .toSorted((a, b) => coveredOf(a, bestCovered(a)) - coveredOf(b, bestCovered(b)))
  const missing = markets.filter((market) => !isRecorded(market)).length
  const isToday = startOfDay(countedFromMs) === startOfDay(nowMs())
  const since = `${isToday ? showMinute(countedFromMs) : showDayMinute(countedFromMs)} UTC`
  return (
    <>
      <p>
        {markets.length === 0
          ? `Nothing has resolved since ${since}.`
          : `${showSome(markets.length, 'window')} began and resolved since ${since}: ${showCount(count('up'))} up, ${showCount(count('down'))} down`}
        {count('void') > 0 && `, ${showCount(count('void'))} void`}
        {markets.length > 0 && '. '}
        {holed.length > 0 && `${showCount(holed.length)} of them have gaps. `}
        {missing > 0 && `${showCount(missing)} of them were not recorded.`}
      </p>
      {countedFromMs > fromMs && (
        <p class="note">Earlier windows are not counted: there are too many.</p>
      )}
      {unread.length > 0 && (
        <p class="note">Could not be read: {unread.join(', ').toUpperCase()}.</p>
      )}
      {markets.length > 0 && moved.length === 0 && (
        <p class="note">Strikes and final prices are not known.</p>
      )}
      {markets.length > 0 && holed.length === 0 && <p class="note">{noGapsText(resolved)}</p>}
      <div class="away">
        <WindowList title="Resolved" markets={newest}>
          {(market) => <MarketState market={market} />}
        </WindowList>
        <WindowList title="Largest moves of the coin" markets={moved}>
          {(market) => (
            <span class={`num ${moveOf(market) < 0 ? 'down' : 'up'}`}>
              {showChange(moveOf(market))}
            </span>
          )}
        </WindowList>
        <WindowList title="Gaps" markets={holed}>
          {(market) => (
            <span class="num">
              {showSome(gapsOf(market), 'gap')}, {showCovered(market)} covered
            </span>
          )}
        </WindowList>
      </div>
    </>
  )
}

type ListProps = {
  title: string
  markets: readonly Market[]
  children: (market: Market) => preact.ComponentChildren
}

/** The first windows of a list, with a link to each; nothing for an empty list. */
export function WindowList({ title, markets, children }: ListProps) {
  if (markets.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {markets.slice(0, SHOWN_MAX).map((market) => (
          <li key={market.conditionId}>
            <a href={`/markets/${market.symbol}/${market.conditionId}`}>
              {market.symbol.toUpperCase()} {market.timeframe}
            </a>{' '}
            <SimulatedTag source={market.source} />{' '}
            <span class="note num">{showWindow(market.windowStart, market.windowEnd)}</span>
            {children(market)}
          </li>
        ))}
      </ul>
    </section>
  )
}
