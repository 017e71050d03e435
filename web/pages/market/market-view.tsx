/** The pictures of a market over one axis of time. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { findFinerMove, findLargestMove, type Move } from '../../charts/largest-move.ts'
import { type Gap, gapsOf, toLines } from '../../charts/line-data.ts'
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
import type { Book, Heatmap, Listed, Market, Outcome } from '../../lib/bodies.ts'
import { nowMs, useMoment, useSecondsUntil } from '../../lib/clock.ts'
import {
  outcomeNames,
  showDuration,
  showLength,
  showMarket,
  showMoment,
  showPrice,
} from '../../lib/format.ts'
import { useLocation } from '../../lib/location.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { MarketState } from '../../parts/market-state.tsx'
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
  // After the heat map, which is seen first.
  const spot = useSpot(market, { isOn: mayTrades && (isOpen || isSettled), isOpen, again })
  const coverage = useCoverage(market, again)
  const streamed = useStreamed(market, { isOn: quotes.isLoaded && isSettled, hasBooks, onChange })
  // What was streamed goes when the history of the whole window is there.
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
  const mids = useMemo(() => toLines(all, gaps, ({ mid }) => mid), [all, gaps])
  const spreads = useMemo(
    () => toLines(all, gaps, ({ bid, ask }) => (bid === null || ask === null ? null : ask - bid)),
    [all, gaps],
  )
  const streamedBooks = useMemo(
    () => withMirrors([...streamed.books.up, ...streamed.books.down], mirrorBook, mirrored),
    [streamed.books, mirrored],
  )
  const books = useMemo(
    () => withLater(stepped.books, ofOutcome(streamedBooks, outcome)),
    [stepped.books, streamedBooks, outcome],
  )
  // There are more books than quotes in a window with very many of these: their list has an end.
  const best = useMemo(() => {
    const rows = [...all, ...books.map((book) => topOf(book))]
    return {
      bids: toLines(rows, gaps, ({ bid }) => bid),
      asks: toLines(rows, gaps, ({ ask }) => ask),
    }
  }, [all, books, gaps])
  const heat = useMemo(
    () =>
      mirrored && heatmap.data && heatmap.data.outcome !== mirrored
        ? mirrorHeat(heatmap.data)
        : heatmap.data,
    [heatmap.data, mirrored],
  )
  const shownTrades = useMemo(() => guessOutcomes(trades, mids), [trades, mids])
  // The picture keeps its name until that of the other outcome is there.
  const drawn = outcomeOf(heat, outcome)
  const heatBooks = useMemo(
    () => (live === none ? none.books[drawn] : ofOutcome(streamedBooks, drawn)),
    [live === none, streamedBooks, drawn],
  )
  const drawnGaps = useGapsOf(gaps, drawn)
  const ownGaps = useGapsOf(gaps, outcome)
  useNewest(axis, { isOn: isLive && isOpen, follows }, [all.at(-1), spot.ticks.at(-1)])
  const isSilent = useIsSilent(live) && isOpen
  /** Of very many quotes only the first are here: the books of each step are of all the window. */
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
      <Head {...{ market, chosen, isSettled }} live={isOpen ? live : none} />
      <NextWindow market={market} isFollowing={isLive} />
      <Readout {...{ axis, market, outcome, mids, spreads, ticks: spot.ticks }} />
      <MirrorNote {...chosen} />
      <div class="market-grid">
        {/* Before the rest, as on a phone it is shown first; its room is kept until it is there. */}
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

/** A move is as large as the mid changed within this. */
const MOVE_MS_MAX = 10_000

/** `Largest move: Up from 41.5¢ to 63¢ within 8.2 s, at 08:03:12.250.` */
function describeMove(outcome: Outcome, move: Move | undefined): string {
  if (move === undefined) return `The mid of ${outcomeNames[outcome]} does not change here.`
  const { from, to, fromMs, toMs } = move
  return `Largest move: ${outcomeNames[outcome]} from ${showPrice(from)} to ${showPrice(to)} within ${showDuration(toMs - fromMs)}, at ${showMoment(toMs)}.`
}

/**
 * As the address has it; else the newest moment of a market that is open, which is followed, or the
 * start of one that is not yet.
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

/** The status that the history was loaded for: it is loaded again when that is another. */
function useHistoryOf({ status, windowStart, windowEnd }: Market, onChange: () => void): string {
  const [loaded, setLoaded] = useState<string>(status)
  useEffect(() => {
    const timer = setTimeout(() => setLoaded(status), status === 'closed' ? AFTER_MS : 0)
    return () => clearTimeout(timer)
  }, [status])
  // Where nothing is streamed that would say so.
  const next = { upcoming: windowStart, open: windowEnd, closed: null, resolved: null }[status]
  useMoment(next === null ? undefined : Date.parse(next), onChange)
  return loaded
}

type Streaming = { isOn: boolean; hasBooks: boolean; onChange: () => void }

/** Of a market that was open in this page, until the winner is known, which is told last. */
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

/** The newest state is looked at, and the view moves along, until another moment is pointed at. */
function useNewest(
  axis: TimeAxis,
  { isOn, follows }: { isOn: boolean; follows: boolean },
  rows: ({ timestamp: string } | undefined)[],
) {
  const newestMs = Math.max(...rows.map((row) => Date.parse(row?.timestamp ?? '') || 0))
  useEffect(() => {
    if (!isOn || newestMs <= 0) return
    const ms = Math.min(axis.whole.toMs, newestMs)
    if (follows) follow(axis, ms)
    axis.cursorMs.set(ms)
  }, [newestMs, isOn, follows])
}

/**
 * Rows with the mirrors of those of the other outcome, where one is shown so: own rows of it, of
 * which there is next to nothing, are left out.
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

/** The last steps come only when a market is closed for good: what was streamed stays. */
function withLater(stepped: readonly Book[], streamed: readonly Book[]): Book[] {
  const last = stepped.at(-1)?.timestamp ?? ''
  return [...stepped, ...streamed.filter(({ timestamp }) => timestamp > last)]
}

/** How a cell of the heat map is made, from the address, so that it can be shared. */
function useAggregation(): Aggregation {
  const named = useLocation().query.get('agg')
  return aggregations.find((each) => each === named) ?? 'max'
}

type HeadProps = { market: Market; chosen: ChosenOutcome; isSettled: boolean; live: Live }

function Head({ market, chosen, isSettled, live }: HeadProps) {
  const { symbol, windowStart, question, source } = market
  return (
    <div class="row spread">
      <div>
        <p class="note">
          <a href={`/markets/${symbol}`}>{symbol.toUpperCase()} markets</a>
          {market.status === 'upcoming' && <OpensIn start={windowStart} />}
        </p>
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
