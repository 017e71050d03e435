import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import { DepthChart } from '../../charts/depth-chart.tsx'
import { indexAt } from '../../charts/find-at.ts'
import { Ladder } from '../../charts/ladder.tsx'
import { type Gap, gapBetween } from '../../charts/line-data.ts'
import { mirrorOf } from '../../charts/mirror.ts'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Book, Market, Outcome } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { outcomeNames, showMoment } from '../../lib/format.ts'
import type { Cell } from '../../lib/save.ts'
import { Figure } from '../../parts/figure.tsx'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  /** The other outcome's book is shown, mirrored. */
  isMirrored: boolean
  books: readonly Book[]
  /** Gaps of the outcome. */
  gaps: readonly Gap[]
  call: Call
  /** Text in place of books that are not loaded. */
  missing: string | undefined
}

/** The book that prevailed at the crosshair, never a later one. */
export function BookFigure({
  axis,
  market,
  outcome,
  isMirrored,
  books,
  gaps,
  call,
  missing,
}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { book, gap } = useBookAt(axis, missing === undefined ? books : none, gaps)
  return (
    <aside class="market-side">
      <Figure
        title={`${outcomeNames[outcome]} order book${isMirrored ? mirrorOf(outcome) : ''}`}
        name={`book-${market.symbol}-${outcome}-${market.conditionId.slice(0, 10)}`}
        source={market.source}
        calls={[call]}
        canvas={() => canvas.current}
        rows={() => toRows(book)}
        notes={() => [`${noteOf(book, gap, market)}: cumulative sizes of bids (left) and asks`]}
      >
        <p class="note num">{missing ?? noteOf(book, gap, market)}</p>
        <Ladder book={book} />
        <DepthChart book={book} canvasRef={canvas} />
      </Figure>
    </aside>
  )
}

const none: never[] = []

function noteOf(book: Book | undefined, gap: Gap | undefined, { status }: Market): string {
  if (book) return `As of ${showMoment(Date.parse(book.timestamp))} UTC`
  if (gap) return `No book: gap since ${showMoment(gap.fromMs)} UTC`
  return status === 'upcoming'
    ? 'Shown when the window opens'
    : 'No book recorded before this moment'
}

type Known = { book?: Book | undefined; gap?: Gap | undefined }

/** The book at the crosshair, unless a gap ended it. Only another book draws the component again. */
function useBookAt(axis: TimeAxis, books: readonly Book[], gaps: readonly Gap[]): Known {
  const times = useMemo(() => books.map(({ timestamp }) => Date.parse(timestamp)), [books])
  const find = (): Known => {
    const ms = axis.cursorMs.get()
    const at = indexAt(times, ms)
    const gap = gapBetween(gaps, times[at] ?? -Infinity, ms)
    return gap ? { gap } : { book: books[at] }
  }
  const [, update] = useState({})
  const shown = useRef<Known>({})
  shown.current = find()
  // An effect after the paint would still look in the books before when the crosshair moves on.
  useLayoutEffect(
    () =>
      axis.cursorMs.subscribe(() => {
        const { book, gap } = find()
        if (book !== shown.current.book || gap !== shown.current.gap) update({})
      }),
    [axis, books, gaps],
  )
  return shown.current
}

function* toRows(book: Book | undefined): Generator<readonly Cell[]> {
  yield ['side', 'price', 'size']
  for (const { price, size } of book?.bids ?? []) yield ['bid', price, size]
  for (const { price, size } of book?.asks ?? []) yield ['ask', price, size]
}
