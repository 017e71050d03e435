/** The charts of a market over one time axis. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import { findFinerMove, findLargestMove, type Move } from '../../charts/largest-move.ts'
import { createLines, type Gap, gapsOf, toLines } from '../../charts/line-data.ts'
import {
  mirrorBook,
  mirrorGap,
  mirrorHeat,
  mirrorQuote,
  otherOutcome,
} from '../../charts/mirror.ts'
import {
  createTimeAxis,
  follow,
  isWhole,
  pointAt,
  SHOWN_MS_MIN,
  type TimeAxis,
} from '../../charts/time-axis.ts'
import { guessOutcomes } from '../../charts/trade-outcomes.ts'
import type { Loaded } from '../../lib/api.ts'
import type { Book, Heatmap, Listed, Market, Outcome, Spot } from '../../lib/bodies.ts'
import { nowMs, serverNowMs, useMoment, useNow, useSecondsUntil } from '../../lib/clock.ts'
import {
  outcomeNames,
  showDuration,
  showLength,
  showMarket,
  showMoment,
  showPrice,
} from '../../lib/format.ts'
import { useLocation } from '../../lib/location.ts'
import { neededOfMarket } from '../../lib/needed.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { MarketState } from '../../parts/market-state.tsx'
import { NeededText } from '../../parts/needed-text.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { BookFigure } from './book-figure.tsx'
import { HeatFigure } from './heat-figure.tsx'
import { OutcomesFigure, SpotFigure } from './line-figures.tsx'
import { type Live, nothing, topOf, useLive } from './live-market.ts'
import { LiveTag, useIsSilent } from './live-tag.tsx'
import {
  type Aggregation,
  aggregations,
  baseOf,
  loadQuotes,
  spanOf,
  useBooks,
  useCoverage,
  useHeatmap,
  useQuotes,
  useSpot,
  useTrades,
} from './load-market.ts'
import { MarketTools } from './market-tools.tsx'
import { NextWindow } from './next-window.tsx'
import { type ChosenOutcome, MirrorNote, OutcomeChoice, useOutcome } from './outcome-choice.tsx'
import { Player } from './player.tsx'
import { Readout } from './readout.tsx'
import { readMoment, readView, useSharedView } from './shared-view.ts'

type Props = { market: Market; rights: Rights; onChange: () => void }

export function LiveMarket({ market, rights, onChange }: Props) {
  const chosen = useOutcome(market)
  const { outcome, mirrored } = chosen
  const agg = useAggregation()
  const isOpen = market.status === 'open'
  const { axis, isLive, setLive, follows, setFollows } = useAxis(market)
  const wanted = { coin: market.symbol, market: market.conditionId }
  const mayBooks = mayRead(rights, { ...wanted, route: 'snapshots' })
  const mayTrades = mayRead(rights, { ...wanted, route: 'prices' })
  const mayQuotes = mayRead(rights, { ...wanted, route: 'quotes' })
  const again = useHistoryOf(market, onChange)
  const asked = mirrored ? otherOutcome(outcome) : outcome
  const heatmap = useHeatmap(market, { outcome: asked, agg, mayTrades, isOn: mayBooks, again })
  const hasBooks = heatmap.data !== undefined
  const isSettled = hasBooks || !mayBooks || heatmap.problem !== undefined
  const view = mirrored && 'consolidated'
  const stepped = useBooks(market, { outcome, view, isOn: hasBooks, again })
  const quotes = useQuotes(market, mayQuotes ? 'quotes' : 'prices', again)
  const { trades, call: tradesCall } = useTrades(market, { isOn: mayBooks, isOpen, again })
  // Requested after the heat map, which is seen first.
  const spot = useSpot(market, { isOn: mayTrades && (isOpen || isSettled), isOpen, again })
  const coverage = useCoverage(market, again)
  const streamed = useStreamed(market, { isOn: quotes.isLoaded && isSettled, hasBooks, onChange })
  // Streamed rows are dropped when the history of the whole window is loaded.
  const isHeld = [quotes, ...(hasBooks ? [heatmap, stepped] : [])].every(
    (loaded) => loaded.again !== 'open',
  )
  const live = isOpen || !isHeld ? streamed : none
  const all = useMemo(
    () => withMirrors([...quotes.quotes, ...live.quotes], mirrorQuote, mirrored),
    [quotes.quotes, live.quotes, mirrored],
  )
  const gaps = useMemo(
    () => withMirrors([...gapsOf(coverage.data), ...live.gaps], mirrorGap, mirrored),
    [coverage.data, live.gaps, mirrored],
  )
  const lines = useMemo(createMarketLines, [])
  const mids = useMemo(() => lines.mids(all, gaps), [all, gaps])
  const spreads = useMemo(() => lines.spreads(all, gaps), [all, gaps])
  const streamedBooks = useMemo(
    () => withMirrors([...streamed.books.up, ...streamed.books.down], mirrorBook, mirrored),
    [streamed.books, mirrored],
  )
  const books = useMemo(
    () => withLater(stepped.books, ofOutcome(streamedBooks, outcome)),
    [stepped.books, streamedBooks, outcome],
  )
  // In a window with very many quotes only the first are loaded: later best prices are from books.
  const tops = useMemo(() => stepped.books.map(topOf), [stepped.books])
  const best = useMemo(() => {
    const rows = [...tops, ...all]
    return { bids: lines.bids(rows, gaps), asks: lines.asks(rows, gaps) }
  }, [all, tops, gaps])
  const heat = useMemo(
    () =>
      mirrored && heatmap.data && heatmap.data.outcome !== mirrored
        ? mirrorHeat(heatmap.data)
        : heatmap.data,
    [heatmap.data, mirrored],
  )
  const shownTrades = useMemo(() => guessOutcomes(trades, mids), [trades, mids])
  // The chart keeps its outcome until the heat map of the other one is loaded.
  const drawn = outcomeOf(heat, outcome)
  const heatBooks = useMemo(
    () => (live === none ? none.books[drawn] : ofOutcome(streamedBooks, drawn)),
    [live === none, streamedBooks, drawn],
  )
  const drawnGaps = useGapsOf(gaps, drawn)
  const ownGaps = useGapsOf(gaps, outcome)
  useNewest(axis, { isOn: isLive && isOpen, follows }, [all.at(-1), spot.ticks.at(-1)])
  const isSilent = useIsSilent(live) && isOpen
  /**
   * True if only the first of very many quotes are loaded; the stepped books cover the whole
   * window.
   */
  const isCut = quotes.data?.nextCursor != null && books.length > 0
  const findMove = (): Move | undefined => {
    const line = isCut ? toLines(books.map(topOf), gaps, ({ mid }) => mid) : mids
    const withinMs = isCut ? Math.max(MOVE_MS_MAX, stepped.stepMs) : MOVE_MS_MAX
    return findLargestMove(line[0], line[outcome === 'up' ? 1 : 2] ?? [], withinMs)
  }
  const [moveText, setMoveText] = useState('')
  const showMove = (move: Move | undefined) => {
    axis.marked.set(move)
    setMoveText(quotes.isLoaded ? describeMove(outcome, move) : 'The prices are not loaded yet.')
    if (move) pointAt(axis, move.toMs)
  }
  /** Shows the move within the step in which it was found, once its quotes are here. */
  const refineMove = async (found: Move) => {
    const part = { fromMs: found.fromMs, toMs: found.toMs + 1 }
    const rows = await loadQuotes(quotes.call, part).catch(() => none.quotes)
    // Another one was chosen meanwhile.
    if (axis.marked.get() !== found) return
    const finer = { outcome, quotes: withMirrors(rows, mirrorQuote, mirrored), gaps }
    const move = findFinerMove(found, finer, MOVE_MS_MAX)
    if (move) showMove(move)
  }
  const goToMove = () => {
    setLive(false)
    const move = findMove()
    showMove(move)
    if (move && isCut) void refineMove(move)
  }
  useEffect(() => {
    axis.marked.set(undefined)
    setMoveText('')
  }, [outcome])
  const pictures = { axis, market, outcome, gaps: ownGaps, isMirrored: mirrored !== undefined }
  const heatPicture = {
    ...pictures,
    outcome: drawn,
    gaps: drawnGaps,
    isMirrored: drawn === mirrored,
  }
  return (
    <div class={isSilent ? 'page is-silent' : 'page'} onPointerDown={() => setLive(false)}>
      <Head {...{ market, chosen, isSettled, ticks: spot.ticks }} live={isOpen ? live : none} />
      <NextWindow market={market} isFollowing={isLive} />
      <Readout {...{ axis, market, outcome, mids, spreads, ticks: spot.ticks }} />
      <MirrorNote {...chosen} />
      <div class="market-grid">
        {/* First, as on a phone; its space is reserved until it is loaded. */}
        {mayBooks && !heatmap.problem && (
          <BookFigure
            {...pictures}
            {...{ books, call: stepped.call, missing: missingOf(stepped) }}
          />
        )}
        <div class="market-main">
          {!mayBooks && <TierCard what="Whole books, the heat map and the ladder" />}
          {mayBooks && heatmap.problem && (
            <ProblemCard problem={heatmap.problem} onRetry={heatmap.reload} />
          )}
          {mayBooks && !heatmap.problem && (
            <HeatFigure
              {...{ ...heatPicture, agg, trades: shownTrades, heat, books: heatBooks, best }}
              {...{ call: heatmap.call, tradesCall, again }}
            />
          )}
          <Player
            {...{ axis, isOpen, isLive, moveText, follows }}
            onFollow={(next) => {
              if (!next) axis.view.set(axis.whole)
              axis.prices.set(next ? 'fit' : 'all')
              setFollows(next)
              setTimeout(() => setLive(true))
            }}
            onLive={() => setTimeout(() => setLive(!isLive))}
            onMove={goToMove}
          />
          {quotes.problem ? (
            <ProblemCard problem={quotes.problem} />
          ) : (
            <>
              <OutcomesFigure {...pictures} kind="price" data={mids} call={quotes.call} />
              <OutcomesFigure {...pictures} kind="spread" data={spreads} call={quotes.call} />
            </>
          )}
          {spot.ticks.length > 0 && <SpotFigure {...pictures} {...spot} />}
        </div>
      </div>
    </div>
  )
}

const createMarketLines = () => ({
  mids: createLines(({ mid }) => mid),
  spreads: createLines(({ bid, ask }) => (bid === null || ask === null ? null : ask - bid)),
  bids: createLines(({ bid }) => bid),
  asks: createLines(({ ask }) => ask),
})

/** The time within which a change of the mid counts as one move. */
const MOVE_MS_MAX = 10_000

/** `Largest move: Up from 41.5¢ to 63¢ within 8.2 s, at 08:03:12.250.` */
function describeMove(outcome: Outcome, move: Move | undefined): string {
  if (move === undefined) return `The mid of ${outcomeNames[outcome]} does not change here.`
  const { from, to, fromMs, toMs } = move
  return `Largest move: ${outcomeNames[outcome]} from ${showPrice(from)} to ${showPrice(to)} within ${showDuration(toMs - fromMs)}, at ${showMoment(toMs)}.`
}

/**
 * The axis at the moment in the address, else at the newest moment of an open market, which is
 * followed, at the start of an upcoming one, or in the middle of a finished one.
 */
function useAxis(market: Market) {
  const isOpen = market.status === 'open'
  const axis = useMemo(() => {
    const whole = spanOf(market)
    const now = isOpen || market.status === 'upcoming' ? nowMs() : undefined
    const middle = now ?? (whole.fromMs + whole.toMs) / 2
    const cursorMs = readMoment(whole) ?? Math.min(whole.toMs, Math.max(whole.fromMs, middle))
    const view = readView(whole, SHOWN_MS_MIN)
    const prices = isOpen && readMoment(whole) === undefined ? 'fit' : 'all'
    return createTimeAxis(whole, { cursorMs, view, prices })
  }, [market.conditionId])
  const [isLive, setLive] = useState(isOpen && readMoment(axis.whole) === undefined)
  const [follows, setFollows] = useState(isLive && isWhole(axis))
  useSharedView(axis, isLive && isOpen)
  return { axis, isLive, setLive, follows, setFollows }
}

const missingOf = ({ isLoading, problem, data }: Loaded<Listed<Book>>): string | undefined =>
  isLoading || data === undefined ? (problem?.title ?? 'Loading…') : undefined

const outcomeOf = (heat: Heatmap | undefined, chosen: Outcome): Outcome => heat?.outcome ?? chosen

const useGapsOf = (gaps: readonly Gap[], outcome: Outcome): Gap[] =>
  useMemo(
    () => gaps.filter((gap) => gap.outcome === outcome).toSorted((a, b) => a.fromMs - b.fromMs),
    [gaps, outcome],
  )

const none = nothing('off')
/** Rows may come for some seconds after the window. */
const AFTER_MS = 5_000

/** The status for which the history was loaded; another one loads it again. */
function useHistoryOf({ status, windowStart, windowEnd }: Market, onChange: () => void): string {
  const [loaded, setLoaded] = useState<string>(status)
  useEffect(() => {
    const timer = setTimeout(() => setLoaded(status), status === 'closed' ? AFTER_MS : 0)
    return () => clearTimeout(timer)
  }, [status])
  // For a visitor without a stream, which would report it.
  const next = { upcoming: windowStart, open: windowEnd, closed: null, resolved: null }[status]
  useMoment(next === null ? undefined : Date.parse(next), onChange)
  return loaded
}

type Streaming = { isOn: boolean; hasBooks: boolean; onChange: () => void }

/** Streams a market that was open on this page until its winner is known, the last event. */
function useStreamed(market: Market, { isOn, hasBooks, onChange }: Streaming) {
  const wasOpen = useRef(false)
  wasOpen.current ||= market.status === 'open'
  return useLive({
    path: `${baseOf(market)}/live`,
    isOn: isOn && wasOpen.current && market.status !== 'resolved',
    channel: hasBooks ? 'snapshots' : 'prices',
    onChange,
  })
}

/**
 * Moves the crosshair and the view to the newest state, until the visitor points at another moment.
 * Runs before the paint, so that all charts are drawn once for a row.
 */
function useNewest(
  axis: TimeAxis,
  { isOn, follows }: { isOn: boolean; follows: boolean },
  rows: ({ timestamp: string } | undefined)[],
) {
  const newestMs = Math.max(...rows.map((row) => Date.parse(row?.timestamp ?? '') || 0))
  useLayoutEffect(() => {
    if (!isOn || newestMs <= 0) return
    const ms = Math.min(axis.whole.toMs, newestMs)
    if (follows) follow(axis, ms)
    axis.cursorMs.set(ms)
  }, [newestMs, isOn, follows])
}

/**
 * Rows of the recorded outcome with their mirrors, if the other outcome is shown mirrored. The few
 * rows that were recorded of that one are left out.
 */
function withMirrors<T extends { outcome: Outcome }>(
  rows: T[],
  mirror: (row: T) => T,
  mirrored: Outcome | undefined,
): T[] {
  if (mirrored === undefined) return rows
  return rows.flatMap((row) => (row.outcome === mirrored ? [] : [row, mirror(row)]))
}

const ofOutcome = (books: readonly Book[], outcome: Outcome): Book[] =>
  books.filter((book) => book.outcome === outcome)

/** Streamed books stay until the last steps are loaded, after the market has closed. */
function withLater(stepped: readonly Book[], streamed: readonly Book[]): Book[] {
  const last = stepped.at(-1)?.timestamp ?? ''
  return [...stepped, ...streamed.filter(({ timestamp }) => timestamp > last)]
}

/** Aggregation of heat map cells, from the address so that it can be shared. */
function useAggregation(): Aggregation {
  const named = useLocation().query.get('agg')
  return aggregations.find((each) => each === named) ?? 'max'
}

type HeadProps = {
  market: Market
  chosen: ChosenOutcome
  isSettled: boolean
  ticks: readonly Spot[]
  live: Live
}

function Head({ market, chosen, isSettled, ticks, live }: HeadProps) {
  const { symbol, windowStart, question, source } = market
  return (
    <div>
      {/* A line of its own: its changes move nothing. */}
      <p class="note">
        <a href={`/markets/${symbol}`}>{symbol.toUpperCase()} markets</a>
        {market.status === 'upcoming' && <OpensIn start={windowStart} />}
        {market.status === 'open' && <NeededNow market={market} ticks={ticks} />}
      </p>
      <div class="row spread">
        <div>
          <h1 title={question ?? undefined}>{showMarket(market)}</h1>
          <MarketTools market={market} isSettled={isSettled} />
        </div>
        <div class="row market-states">
          <SimulatedTag source={source} />
          <MarketState market={market} />
          <LiveTag live={live} />
          <OutcomeChoice {...chosen} />
        </div>
      </div>
    </div>
  )
}

/** The move that is needed, in the last minute. */
function NeededNow({ market, ticks }: Pick<HeadProps, 'market' | 'ticks'>) {
  useNow()
  const needed = neededOfMarket(market, ticks, serverNowMs())
  return needed === undefined ? null : (
    <>
      {' '}
      · <NeededText needed={needed} />
    </>
  )
}

function OpensIn({ start }: { start: string | null }) {
  const seconds = useSecondsUntil(start === null ? 0 : Date.parse(start))
  if (start === null) return null
  return (
    <>
      {' '}
      · opens in <span class="num">{showLength(seconds * 1000)}</span>
    </>
  )
}
