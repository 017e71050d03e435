/** What happened since the last visit: windows that were resolved, the largest moves, gaps. */

import { useEffect, useState } from 'preact/hooks'

import { request } from '../../lib/api.ts'
import type { Listed, Market } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { facts } from '../../lib/facts.ts'
import { showChange, showShare, showSome, showStamp, showWindow } from '../../lib/format.ts'
import { createKept } from '../../lib/kept.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { useSeen } from '../../lib/seen.ts'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { MarketState } from '../../parts/market-state.tsx'
import { pinned, seriesOf } from './order.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A shorter absence is none. */
const AWAY_MS_MIN = 5 * 60_000
const AWAY_MS_MAX = 7 * DAY_MS
const MARKETS_MAX = 1000
const SHOWN_MAX = 5
const NOTE_MS = 60_000

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
  const fromMs = {
    visit: Math.max(visitMs, openedMs - AWAY_MS_MAX),
    hour: openedMs - HOUR_MS,
    today: Math.floor(openedMs / DAY_MS) * DAY_MS,
  }[span]
  const coins = Object.keys(facts.coins ?? {}).filter(
    (each) =>
      (coin === undefined || each === coin) && mayRead(rights, { route: 'markets', coin: each }),
  )
  const markets = useResolved(isSeen ? coins : [], fromMs)
  return (
    <div ref={place}>
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
        {markets === undefined ? (
          <p class="note" aria-busy="true">
            Loading…
          </p>
        ) : (
          <Summary markets={markets} fromMs={fromMs} />
        )}
      </Card>
    </div>
  )
}

/** The last visit before this one; from now on it is this one. */
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

/** Windows that began since a moment and are resolved, newest first. */
function useResolved(coins: readonly string[], fromMs: number): Market[] | undefined {
  const [markets, setMarkets] = useState<Market[]>()
  const names = coins.join()
  useEffect(() => {
    if (names === '') return
    const aborter = new AbortController()
    const query = { from: fromMs, status: 'resolved', limit: MARKETS_MAX }
    const lists = names.split(',').map(async (coin) => {
      const path = `/v1/${coin}/markets`
      return (await request<Listed<Market>>(path, { query, signal: aborter.signal })).data
    })
    setMarkets(undefined)
    // A coin that cannot be read is left out.
    void Promise.allSettled(lists).then((results) => {
      if (aborter.signal.aborted) return
      setMarkets(results.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])))
    })
    return () => aborter.abort()
  }, [names, fromMs])
  return markets
}

const moveOf = ({ strike, finalPrice }: Market): number =>
  strike === null || finalPrice === null ? 0 : finalPrice / strike - 1

const gapsOf = ({ outcomes }: Market): number =>
  outcomes.reduce((sum, { coverage }) => sum + (coverage.gaps ?? 0), 0)

const coveredOf = ({ outcomes }: Market): number =>
  Math.min(...outcomes.map(({ coverage }) => coverage.covered ?? 0))

function Summary({ markets, fromMs }: { markets: readonly Market[]; fromMs: number }) {
  const count = (result: string) => markets.filter((each) => each.result === result).length
  const first = pinned.store.get()
  const newest = markets
    .toSorted((a, b) => (b.windowEnd ?? '').localeCompare(a.windowEnd ?? ''))
    .toSorted((a, b) => Number(first.includes(seriesOf(b))) - Number(first.includes(seriesOf(a))))
  const moved = markets
    .filter((market) => moveOf(market) !== 0)
    .toSorted((a, b) => Math.abs(moveOf(b)) - Math.abs(moveOf(a)))
  const holed = markets
    .filter((market) => gapsOf(market) > 0)
    .toSorted((a, b) => coveredOf(a) - coveredOf(b))
  return (
    <>
      <p>
        {showSome(markets.length, 'window')} resolved of those that began since{' '}
        <span class="num">{showStamp(new Date(fromMs).toISOString())}</span>: {count('up')} up,{' '}
        {count('down')} down{count('void') > 0 && `, ${count('void')} void`}.{' '}
        {holed.length > 0 && `${holed.length} of them have gaps.`}
      </p>
      <div class="away">
        <List title="Resolved" markets={newest} none="No window was resolved.">
          {(market) => <MarketState market={market} />}
        </List>
        <List title="Largest moves" markets={moved} none="No strike and final price are known.">
          {(market) => (
            <span class={`num ${moveOf(market) < 0 ? 'down' : 'up'}`}>
              {showChange(moveOf(market))}
            </span>
          )}
        </List>
        <List title="Gaps" markets={holed} none="No gaps: all of it was recorded.">
          {(market) => (
            <span class="num">
              {showSome(gapsOf(market), 'gap')}, {showShare(coveredOf(market))} covered
            </span>
          )}
        </List>
      </div>
    </>
  )
}

type ListProps = {
  title: string
  markets: readonly Market[]
  none: string
  children: (market: Market) => preact.ComponentChildren
}

function List({ title, markets, none, children }: ListProps) {
  return (
    <section>
      <h3>{title}</h3>
      {markets.length === 0 && <p class="note">{none}</p>}
      <ul>
        {markets.slice(0, SHOWN_MAX).map((market) => (
          <li key={market.conditionId}>
            <a href={`/markets/${market.symbol}/${market.conditionId}`}>
              {market.symbol.toUpperCase()} {market.timeframe}
            </a>{' '}
            <span class="note num">{showWindow(market.windowStart, market.windowEnd)}</span>
            {children(market)}
          </li>
        ))}
      </ul>
    </section>
  )
}
