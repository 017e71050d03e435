import type { Book, Level } from '../lib/bodies.ts'
import { showPrice, showSize } from '../lib/format.ts'

const DEPTH = 8

/** The best levels of a book, asks above bids. */
export function Ladder({ book }: { book: Book | undefined }) {
  const asks = (book?.asks ?? []).slice(0, DEPTH)
  const bids = (book?.bids ?? []).slice(0, DEPTH)
  const most = Math.max(1, ...[...asks, ...bids].map(({ size }) => size))
  return (
    <table class="ladder num" aria-label="Best levels">
      <thead>
        <tr>
          <th class="right">Price</th>
          <th class="right">Shares</th>
        </tr>
      </thead>
      <tbody>
        <Rows levels={padded(asks).reverse()} side="ask" most={most} />
        <tr class="ladder-spread">
          <td colSpan={2}>{book ? middleOf(book) : '\u00a0'}</td>
        </tr>
        <Rows levels={padded(bids)} side="bid" most={most} />
      </tbody>
    </table>
  )
}

function middleOf({ asks, bids }: Book): string {
  const ask = asks[0]
  const bid = bids[0]
  if (ask && bid) return `spread ${showPrice(ask.price - bid.price)}`
  return ask || bid ? 'one side only' : 'no orders'
}

/** Always the same number of rows, so that nothing below moves. */
const padded = (levels: readonly Level[]): (Level | undefined)[] =>
  Array.from({ length: DEPTH }, (_, index) => levels[index])

type Side = { levels: (Level | undefined)[]; side: 'bid' | 'ask'; most: number }

const Rows = ({ levels, side, most }: Side) => (
  <>
    {levels.map((level, index) => (
      <tr key={index} class={`ladder-${side}`}>
        <td class="right">{level ? showPrice(level.price) : ' '}</td>
        <td class="right ladder-size">
          <i style={{ '--part': level ? level.size / most : 0 }} aria-hidden="true" />
          <span>{level ? showSize(level.size) : ''}</span>
        </td>
      </tr>
    ))}
  </>
)
