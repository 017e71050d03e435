/** Which windows are shown, and in which order. */

import { useEffect, useRef, useState } from 'preact/hooks'

import { facts } from '../../lib/facts.ts'
import { createKept } from '../../lib/kept.ts'
import { edgeOfShown, tables } from './fair-prices.ts'
import type { FollowedBoard, Row, Shown } from './follow-board.ts'

export const sortNames = [
  'left',
  'window',
  'move',
  'up',
  'edge',
  'spread',
  'depth',
  'volume',
] as const
export type SortName = (typeof sortNames)[number]
export type Arrangement = {
  coin: string | undefined
  timeframe: string | undefined
  sort: SortName
  isReversed: boolean
}

/** Layouts of a row. */
export const rowLooks = ['line', 'full'] as const
export type RowLook = (typeof rowLooks)[number]
export const rowLook = createKept<RowLook>(
  'bookfeed.rows',
  (stored) => rowLooks.find((each) => each === stored) ?? 'line',
)

/** Series of windows that come first, such as `btc-5m`. */
export const pinned = createKept<readonly string[]>('bookfeed.pinned', (stored) =>
  Array.isArray(stored) ? stored.filter((each) => typeof each === 'string') : [],
)

export const seriesOf = ({ symbol, timeframe }: Pick<Row, 'symbol' | 'timeframe'>): string =>
  `${symbol}-${timeframe}`

/** Distance of the price from the strike, as a share of it. */
export const moveOf = ({ spot, strike }: Row): number | undefined =>
  spot === null || strike === null ? undefined : spot.price / strike - 1

const coins = Object.keys(facts.coins ?? {})
const timeframes = ['5m', '15m', '1h', '4h', '1d']
const endOf = ({ windowEnd }: Row): number =>
  windowEnd === null ? Infinity : Date.parse(windowEnd)
const depthOf = ({ bidDepth, askDepth }: Row): number => (bidDepth ?? 0) + (askDepth ?? 0)

/** Significant edges first, then those that may be chance, each from the largest down. */
function edgeRank(shown: Shown): number {
  const edge = edgeOfShown(shown)
  return edge === undefined ? 1 : -edge.size - Number(edge.isMeant)
}

/** Lower ranks come first. */
const ranks: Record<SortName, (shown: Shown) => number> = {
  left: ({ row }) => endOf(row),
  window: ({ row: { symbol, timeframe } }) =>
    10 * coins.indexOf(symbol) + timeframes.indexOf(timeframe),
  move: ({ row }) => -Math.abs(moveOf(row) ?? 0),
  up: ({ row: { mid } }) => -(mid ?? -1),
  edge: edgeRank,
  spread: ({ row: { spread } }) => spread ?? Infinity,
  depth: ({ row }) => -depthOf(row),
  volume: ({ row: { volume } }) => -(volume ?? 0),
}

function compare(a: Shown, b: Shown, { sort, isReversed }: Arrangement): number {
  const first = pinned.store.get()
  const isFirst = ({ row }: Shown) => Number(first.includes(seriesOf(row)))
  const order = ranks[sort](a) - ranks[sort](b) || 0
  return (
    isFirst(b) - isFirst(a) ||
    (isReversed ? -order : order) ||
    ranks.window(a) - ranks.window(b) ||
    endOf(a.row) - endOf(b.row)
  )
}

const AGAIN_MS = 1_000

/**
 * Condition ids in order. While the pointer is over the table or the focus is in it, rows keep
 * their places: new ones come last, and windows that ended stay.
 */
export function useOrder(board: FollowedBoard, arrangement: Arrangement) {
  const [order, setOrder] = useState<readonly string[]>([])
  const isHeld = useRef(false)
  const latest = useRef(order)
  const arrange = (mayMove: boolean) => {
    const { coin, timeframe } = arrangement
    if (mayMove) board.sweep()
    const rows = [...board.windows.keys()]
      .flatMap((id) => board.latest(id) ?? [])
      .filter(({ row }) => coin === undefined || row.symbol === coin)
      .filter(({ row }) => timeframe === undefined || row.timeframe === timeframe)
      .toSorted((a, b) => compare(a, b, arrangement))
    const ids = rows.map(({ row }) => row.conditionId)
    const kept = latest.current.filter((id) => ids.includes(id))
    const next = mayMove ? ids : [...kept, ...ids.filter((id) => !kept.includes(id))]
    if (next.join() === latest.current.join()) return
    latest.current = next
    setOrder(next)
  }
  useEffect(() => {
    arrange(true)
    const look = () => arrange(!isHeld.current)
    const timer = setInterval(look, AGAIN_MS)
    const ends = [board.changes, pinned.store, tables].map((store) => store.subscribe(look))
    return () => {
      clearInterval(timer)
      for (const end of ends) end()
    }
  }, [board, arrangement.coin, arrangement.timeframe, arrangement.sort, arrangement.isReversed])
  const pointed = useRef(false)
  const focused = useRef(false)
  const hold = (which: { current: boolean }, isOn: boolean) => () => {
    which.current = isOn
    isHeld.current = pointed.current || focused.current
  }
  return {
    order,
    /** Handlers of the held table. */
    holding: {
      onPointerEnter: hold(pointed, true),
      onPointerLeave: hold(pointed, false),
      onFocusIn: hold(focused, true),
      onFocusOut: hold(focused, false),
    },
  }
}
