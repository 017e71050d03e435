/** Every open window of every coin on one screen. */

import './board.css'

import { useEffect, useState } from 'preact/hooks'

import type { Problem } from '../../lib/api.ts'
import { useNow, useSecondsUntil } from '../../lib/clock.ts'
import { facts } from '../../lib/facts.ts'
import { showTime } from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { mayRead, type Rights, useRights } from '../../lib/rights.ts'
import { useStore } from '../../lib/store.ts'
import { CallPanel } from '../../parts/call-panel.tsx'
import { Choice } from '../../parts/choice.tsx'
import { LegendKey } from '../../parts/legend-key.tsx'
import { PanelButton } from '../../parts/panel-button.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SampleNote } from '../../parts/sample-note.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { Alerts } from './alert-panel.tsx'
import { Away } from './away.tsx'
import { useFairPrices } from './fair-prices.ts'
import { type BoardState, followBoard, type FollowedBoard, type Row } from './follow-board.ts'
import { NothingOpen } from './nothing-open.tsx'
import { type Arrangement, rowLook, type SortName, sortNames, useOrder } from './order.ts'
import { gapText, isUnrecorded, WindowRow } from './window-row.tsx'

const coins = Object.keys(facts.coins ?? {})
const coinChoices = [
  [undefined, 'All'],
  ...coins.map((coin) => [coin, coin.toUpperCase()] as const),
] as const
const looks = [
  ['line', 'One line'],
  ['full', 'Three lines'],
] as const
const lengths = [
  [undefined, 'All'],
  ...['5m', '15m', '1h', '4h', '1d'].map((each) => [each, each] as const),
] as const

export function BoardPage() {
  const key = useStore(apiKey.store)
  const rights = useRights()
  const board = useBoard(key)
  const arrangement = useArrangement()
  const look = useStore(rowLook.store)
  useFairPrices(board, key)
  const [isSettled, setSettled] = useState(false)
  const { coin, timeframe } = arrangement
  const isOpen =
    rights === undefined || coin === undefined || mayRead(rights, { route: 'prices', coin })
  return (
    <div class="page">
      <div class="row">
        <h1>Open windows</h1>
        {board && <StateText board={board} />}
        <div class="row board-tools">
          <Alerts board={board} />
          <PanelButton text="API" name="API">
            {() => (
              <>
                <CallPanel calls={[{ path: '/v1/board', query: { timeframe } }]} />
                <p class="note">
                  The clients read it, too: <code>await bookfeed.get('/v1/board', {'{}'})</code> in
                  TypeScript, <code>bookfeed.get("/v1/board")</code> in Python.{' '}
                  <a href="/docs/live#the-board">The live board</a> sends what changes.
                </p>
              </>
            )}
          </PanelButton>
        </div>
      </div>
      <div class="row spread board-filters">
        <Choice
          label="Coin"
          options={coinChoices}
          value={coin}
          onChoose={(each) => setQuery({ coin: each })}
        />
        <Choice
          label="Length of the window"
          options={lengths}
          value={arrangement.timeframe}
          onChoose={(each) => setQuery({ timeframe: each })}
        />
        <Choice label="Rows" options={looks} value={look} onChoose={rowLook.set} />
      </div>
      <SampleNote />
      {isOpen ? (
        board && (
          <BoardTable {...{ board, arrangement, rights }} onSettled={() => setSettled(true)} />
        )
      ) : (
        <TierCard what={`${facts.coins?.[coin ?? ''] ?? coin} windows`} />
      )}
      {board && rights && (isSettled || !isOpen) && (
        <AwayLater board={board} rights={rights} coin={coin} />
      )}
    </div>
  )
}

/** Shown after the rows above it, which would move it. */
function AwayLater(props: { board: FollowedBoard; rights: Rights; coin: string | undefined }) {
  const state = useStore(props.board.state)
  const { isLoaded } = useStore(props.board.loaded)
  // The page of history has the newest windows.
  const hasNone = isLoaded && props.board.windows.size === 0
  // The table already says that the key is refused.
  return state.kind === 'loading' || isUnknownKey(state) || hasNone ? null : (
    <Away rights={props.rights} coin={props.coin} />
  )
}

/** The board for the visitor's key. */
function useBoard(key: string | undefined): FollowedBoard | undefined {
  const [board, setBoard] = useState<FollowedBoard>()
  useEffect(() => {
    const followed = followBoard()
    setBoard(followed)
    return followed.stop
  }, [key])
  return board
}

/** From the address, so that it can be shared. */
function useArrangement(): Arrangement {
  const { query } = useLocation()
  return {
    coin: coins.find((each) => each === query.get('coin')),
    timeframe: query.get('timeframe') ?? undefined,
    sort: sortNames.find((each) => each === query.get('sort')) ?? 'left',
    isReversed: query.has('reversed'),
  }
}

function StateText({ board }: { board: FollowedBoard }) {
  const state = useStore(board.state)
  // Rows change without this component.
  useNow()
  const rows = [...board.windows.values()]
    .map((each) => each.get().row)
    .filter(({ recording }) => recording.state !== 'damaged')
  if (state.kind === 'live' && rows.length > 0 && rows.every(isUnrecorded))
    return (
      <p role="status" class="row">
        <span class="tag">Not recorded</span>
        <span class="note">{unrecordedText(rows)}</span>
      </p>
    )
  const isEmpty = board.loaded.get().isLoaded && board.windows.size === 0
  return (
    <p role="status" class="row">
      {state.kind === 'live' && isEmpty && <span class="tag">Nothing open</span>}
      {state.kind === 'live' && !isEmpty && <span class="tag live">Live</span>}
      {state.kind !== 'live' && (
        <span class="tag" title={state.kind === 'polled' ? state.problem.detail : undefined}>
          {isUnknownKey(state) ? 'Key unknown' : stateNames[state.kind]}
        </span>
      )}
      <span class="note">{stateText(state)}</span>
    </p>
  )
}

const isUnknownKey = (state: BoardState): boolean =>
  state.kind === 'refused' && state.problem.status === 401

/** Takes the gap that began last: before it, something was recorded. */
function unrecordedText(rows: readonly Row[]): string {
  const [last] = rows
    .map(({ recording }) => recording)
    .toSorted((a, b) => (b.since ?? '').localeCompare(a.since ?? ''))
  const why = last?.since == null ? '' : `: ${gapText(last)}`
  return `No open window is being recorded${why}. Values are as of then.`
}

const stateNames: Record<BoardState['kind'], string> = {
  loading: 'Loading…',
  live: 'Live',
  polled: 'Every few seconds',
  waiting: 'Disconnected',
  refused: 'Not included',
}

function stateText(state: BoardState): string {
  if (state.kind !== 'waiting') return ''
  const why = state.problem === undefined ? silentText() : `${state.problem.title}.`
  return `${why} Values are as of ${showTime(state.sinceMs)} UTC; this page keeps trying.`
}

const silentText = (): string =>
  navigator.onLine ? 'The server does not answer.' : 'You are offline.'

type Column = { sort?: SortName; name: string; look: string }
const columns: readonly Column[] = [
  { sort: 'window', name: 'Window', look: '' },
  { sort: 'left', name: 'Left', look: 'board-left' },
  { sort: 'move', name: 'Price and strike', look: 'board-price' },
  { name: 'Price now', look: 'board-spot' },
  { sort: 'up', name: 'Up', look: 'board-up' },
  { name: 'Fair', look: 'right board-fair' },
  { sort: 'edge', name: 'Edge', look: 'right board-edge' },
  { sort: 'spread', name: 'Spread', look: 'right board-spread' },
  { sort: 'depth', name: 'Depth ±2¢', look: 'right board-depth' },
  { sort: 'volume', name: 'Volume', look: 'right board-volume' },
  { name: 'Recording', look: 'board-recording' },
]

type TableProps = {
  board: FollowedBoard
  arrangement: Arrangement
  rights: Rights | undefined
  /** Called when the windows, or the content in place of them, are shown. */
  onSettled: () => void
}

function BoardTable({ board, arrangement, rights, onSettled }: TableProps) {
  const state = useStore(board.state)
  const { order, holding } = useOrder(board, arrangement)
  const isLine = useStore(rowLook.store) === 'line'
  useEffect(() => {
    if (order.length > 0 || state.kind === 'refused') onSettled()
  }, [order.length, state.kind])
  const load = useStore(board.loaded)
  if (state.kind === 'refused') return <ProblemCard problem={state.problem} />
  if (load.problem !== undefined) return <NotLoaded problem={load.problem} nextMs={load.nextMs} />
  const isCurrent = state.kind === 'live' || state.kind === 'polled'
  const isEmpty = order.length === 0 && load.isLoaded
  if (isEmpty && rights)
    return (
      <section class="card flush" aria-label="Open windows">
        <NothingOpen
          {...{ rights, onSettled }}
          coin={arrangement.coin}
          timeframe={arrangement.timeframe}
        />
      </section>
    )
  return (
    <section class="card flush" aria-label="Open windows">
      <Legend board={board} />
      <div class="board-sort row">
        <label>
          Sort by{' '}
          <select
            value={arrangement.sort}
            onChange={(event) => chooseSort(event.currentTarget.value)}
          >
            {columns.map(({ sort, name }) => sort && <option value={sort}>{name}</option>)}
          </select>
        </label>
      </div>
      <div class="table-wrap">
        <table
          class={`board${isLine ? ' is-line' : ''}${isCurrent ? '' : ' is-stale'}`}
          aria-busy={state.kind === 'loading'}
        >
          <caption class="sr">Open windows with price, strike, probability and liquidity</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={column.name} {...{ column, arrangement }} />
              ))}
            </tr>
          </thead>
          <tbody {...holding}>
            {order.map((id) => {
              const store = board.windows.get(id)
              return store && <WindowRow key={id} board={board} store={store} />
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** The problem in place of the board, with the time until the next try. */
function NotLoaded({ problem, nextMs = 0 }: { problem: Problem; nextMs?: number | undefined }) {
  const seconds = useSecondsUntil(nextMs)
  return (
    <>
      <ProblemCard problem={problem} />
      <p class="note" role="status">
        {seconds > 0 ? `The page tries again in ${seconds} s.` : 'The page tries again now.'}
      </p>
    </>
  )
}

const chooseSort = (sort: string, isReversed = false) =>
  setQuery({ sort: sort === 'left' ? undefined : sort, reversed: isReversed ? '' : undefined })

type HeadingProps = { column: Column; arrangement: Arrangement }

function Heading({ column: { sort, name, look }, arrangement }: HeadingProps) {
  if (sort === undefined) {
    return (
      <th scope="col" class={look}>
        {name}
      </th>
    )
  }
  const isSorted = sort === arrangement.sort
  const { isReversed } = arrangement
  const direction = isReversed ? 'descending' : 'ascending'
  return (
    <th scope="col" class={look} {...(isSorted ? { 'aria-sort': direction } : {})}>
      <button type="button" class="sort" onClick={() => chooseSort(sort, isSorted && !isReversed)}>
        {name}
        {isSorted && <span aria-hidden="true">{isReversed ? ' ↑' : ' ↓'}</span>}
      </button>
    </th>
  )
}

function Legend({ board }: { board: FollowedBoard }) {
  // An average may begin while the row is shown.
  useNow()
  const hasAverage = [...board.windows.values()].some((each) => each.get().row.average !== null)
  return (
    <div class="legend board-legend">
      <span class="accent of-chart">
        <LegendKey sign="line" /> price of the coin
      </span>
      {/* Its space is reserved, so that nothing moves when a row has an average. */}
      <span class={hasAverage ? 'average of-chart' : 'average of-chart unseen'}>
        <LegendKey sign="line" /> settlement average so far
      </span>
      <span class="of-chart">
        <LegendKey sign="dash" /> strike
      </span>
      <span class="of-depth">
        Depth: shares of bids / asks within 2¢ of the mid. Volume: shares traded.
      </span>
      <span>
        Fair: how often Up won from here, of how many windows. Edge: fair − mid; grey may be chance.
      </span>
    </div>
  )
}
