/** The pictures of a market over one axis of time. */

import { useEffect, useMemo, useState } from 'preact/hooks'

import { gapsOf, toLines } from '../../charts/line-data.ts'
import { createTimeAxis } from '../../charts/time-axis.ts'
import type { Market, Outcome } from '../../lib/bodies.ts'
import { nowMs } from '../../lib/clock.ts'
import { showWindow } from '../../lib/format.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { MarketState } from '../../parts/market-state.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { BookFigure } from './book-figure.tsx'
import { HeatFigure } from './heat-figure.tsx'
import { PriceFigure, SpotFigure, SpreadFigure } from './line-figures.tsx'
import { useLive } from './live-market.ts'
import {
  aggregations,
  baseOf,
  spanOf,
  useBooks,
  useCoverage,
  useHeatmap,
  useQuotes,
  useSpot,
  useTrades,
} from './load-market.ts'
import { Player } from './player.tsx'
import { Readout } from './readout.tsx'

type Props = { market: Market; rights: Rights; onChange: () => void }

export function LiveMarket({ market, rights, onChange }: Props) {
  const { outcome, agg } = useChoices()
  const isOpen = market.status === 'open'
  const axis = useMemo(() => {
    const whole = spanOf(market)
    const middle = isOpen ? nowMs() : (whole.fromMs + whole.toMs) / 2
    return createTimeAxis(whole, Math.min(whole.toMs, Math.max(whole.fromMs, middle)))
  }, [market.conditionId])
  const wanted = { coin: market.symbol, market: market.conditionId }
  const mayBooks = mayRead(rights, { ...wanted, route: 'snapshots' })
  const mayQuotes = mayRead(rights, { ...wanted, route: 'quotes' })
  const heatmap = useHeatmap(market, { outcome, agg, isOn: mayBooks })
  const hasBooks = heatmap.data !== undefined
  const isSettled = hasBooks || !mayBooks || heatmap.problem !== undefined
  const stepped = useBooks(market, outcome, hasBooks)
  const quotes = useQuotes(market, mayQuotes ? 'quotes' : 'prices')
  const { trades, call: tradesCall } = useTrades(market)
  const spot = useSpot(market)
  const coverage = useCoverage(market)
  const [isLive, setLive] = useState(isOpen)
  const live = useLive({
    ...{ path: `${baseOf(market)}/live`, isOn: isOpen && quotes.isLoaded && isSettled },
    ...{ channel: hasBooks ? 'snapshots' : 'prices', onOver: onChange },
  })
  const all = useMemo(() => [...quotes.quotes, ...live.quotes], [quotes.quotes, live.quotes])
  const gaps = useMemo(() => gapsOf(coverage.data), [coverage.data])
  const mids = useMemo(() => toLines(all, gaps, ({ mid }) => mid), [all, gaps])
  const spreads = useMemo(
    () => toLines(all, gaps, ({ bid, ask }) => (bid === null || ask === null ? null : ask - bid)),
    [all, gaps],
  )
  const books = useMemo(
    () => [...stepped.books, ...live.books[outcome]],
    [stepped.books, live.books, outcome],
  )
  // Who follows looks at the newest state; to point at another moment ends that.
  useEffect(() => {
    const last = all.at(-1)
    if (isLive && isOpen && last) axis.cursorMs.set(Date.parse(last.timestamp))
  }, [all, isLive, isOpen])
  const pictures = { axis, market, outcome }
  return (
    <div class="page" onPointerDown={() => setLive(false)}>
      <Head market={market} state={live.state} />
      <Readout {...{ axis, market, mids, spreads, ticks: spot.ticks }} />
      <div class="market-grid">
        <div class="market-main">
          {!mayBooks && <TierCard what="Whole books, the heat map and the ladder" />}
          {mayBooks && heatmap.problem && (
            <ProblemCard problem={heatmap.problem} onRetry={heatmap.reload} />
          )}
          {mayBooks && !heatmap.problem && (
            <HeatFigure
              {...{ ...pictures, agg, trades, heat: heatmap.data, books: live.books[outcome] }}
              calls={[heatmap.call, tradesCall]}
            />
          )}
          <Player {...{ axis, isOpen, isLive }} onLive={() => setTimeout(() => setLive(!isLive))} />
          {quotes.problem ? (
            <ProblemCard problem={quotes.problem} />
          ) : (
            <>
              <PriceFigure {...pictures} data={mids} call={quotes.call} />
              <SpreadFigure {...pictures} data={spreads} call={quotes.call} />
            </>
          )}
          {spot.ticks.length > 0 && (
            <SpotFigure {...pictures} ticks={spot.ticks} call={spot.call} />
          )}
        </div>
        {hasBooks && <BookFigure {...pictures} books={books} call={stepped.call} />}
      </div>
    </div>
  )
}

/** What is shown, from the address, so that it can be shared. */
function useChoices() {
  const { query } = useLocation()
  const outcome: Outcome = query.get('outcome') === 'down' ? 'down' : 'up'
  const agg = aggregations.find((each) => each === query.get('agg')) ?? 'max'
  return { outcome, agg }
}

const liveTexts = { off: '', live: 'Live', waiting: 'Connecting…', over: '' }

function Head({ market, state }: { market: Market; state: keyof typeof liveTexts }) {
  const { symbol, timeframe, windowStart, windowEnd, question, source } = market
  const { outcome } = useChoices()
  return (
    <div class="row spread">
      <div>
        <p class="note">
          <a href={`/markets/${symbol}`}>{symbol.toUpperCase()}</a> · {timeframe} ·{' '}
          <span class="num">{showWindow(windowStart, windowEnd)} UTC</span>
        </p>
        <h1>{question ?? `${symbol.toUpperCase()} up or down?`}</h1>
      </div>
      <div class="row">
        {source === 'simulated' && <span class="tag warn">simulated</span>}
        <MarketState market={market} />
        {liveTexts[state] && <span class="tag live">{liveTexts[state]}</span>}
        <div class="tabs" role="group" aria-label="Outcome">
          {(['up', 'down'] as const).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === outcome}
              onClick={() => setQuery({ outcome: each === 'up' ? undefined : each })}
            >
              {each === 'up' ? '▲ Up' : '▼ Down'}
            </button>
          ))}
        </div>
      </div>
    </div>
  )
}
