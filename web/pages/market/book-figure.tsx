import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { DepthChart } from '../../charts/depth-chart.tsx'
import { indexAt } from '../../charts/find-at.ts'
import { Ladder } from '../../charts/ladder.tsx'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Book, Market, Outcome } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { showMoment } from '../../lib/format.ts'
import type { Cell } from '../../lib/save.ts'
import { Figure } from '../../parts/figure.tsx'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  books: readonly Book[]
  call: Call
}

/** The book that prevailed at the crosshair, never a later one. */
export function BookFigure({ axis, market, outcome, books, call }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const book = useBookAt(axis, books)
  return (
    <aside class="market-side">
      <Figure
        title={`Book of ${outcome}`}
        name={`book-${market.symbol}-${outcome}-${market.conditionId.slice(0, 10)}`}
        calls={[call]}
        canvas={() => canvas.current}
        rows={() => toRows(book)}
      >
        <p class="note num">
          {book ? `as of ${showMoment(Date.parse(book.timestamp))}` : 'none recorded by then'}
        </p>
        <Ladder book={book} />
        <DepthChart book={book} canvasRef={canvas} />
      </Figure>
    </aside>
  )
}

/** Drawn again when the book is another, not when the crosshair moves. */
function useBookAt(axis: TimeAxis, books: readonly Book[]): Book | undefined {
  const times = useMemo(() => books.map(({ timestamp }) => Date.parse(timestamp)), [books])
  const find = () => books[indexAt(times, axis.cursorMs.get())]
  const [, update] = useState({})
  const shown = useRef<Book>(undefined)
  shown.current = find()
  useEffect(
    () =>
      axis.cursorMs.subscribe(() => {
        if (find() !== shown.current) update({})
      }),
    [axis, books],
  )
  return shown.current
}

function* toRows(book: Book | undefined): Generator<readonly Cell[]> {
  yield ['side', 'price', 'size']
  for (const { price, size } of book?.bids ?? []) yield ['bid', price, size]
  for (const { price, size } of book?.asks ?? []) yield ['ask', price, size]
}
