/** What is written of rows: their text as it is, or in the gzip of the store. */
import type { Market } from '#src/core/market.ts'
import type { EventStream, MarketHistory } from '#src/history/history.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'

export type Output = Omit<EventStream, 'fork'> & {
  /** The event of a row that was just read. */
  row(market: Market, row: LiveRow, before: string): Uint8Array<ArrayBuffer>
  fork: (sum: EventStream['sum']) => Output
}

const encoder = new TextEncoder()

/** Plain text depends on nothing before it. */
export function createTextOutput(rows: RowReader, filter: RowFilter): Output {
  const event = (text: string) => encoder.encode(`${text}\n\n`)
  const output: Output = {
    event,
    row: (_market, { text }, before) => event(before + text),
    rows({ market, after = { timestampMs: 0, id: 0 }, limit }, before) {
      const page = rows.after({ ...filter, market, after, limit })
      const texts = page.rows.map(({ position, text }) => `${before(position)}${text}\n\n`)
      const { resume: last, hasMore } = page
      return { bytes: encoder.encode(texts.join('')), count: texts.length, last, hasMore }
    },
    ...{ step: '', sum: { crc: 0, bytes: 0 } },
    fork: () => output,
    end: () => new Uint8Array(0),
  }
  return output
}

/** Whole books, as they are stored. */
export const createGzipOutput = (history: MarketHistory): Output => wrap(history.events())

const wrap = (stream: EventStream): Output => ({
  event: stream.event,
  row(market, { position, outcome }, before) {
    const after = { ...position, id: position.id - 1 }
    return stream.rows({ market, outcome: outcome ?? undefined, after, limit: 1 }, () => before)
      .bytes
  },
  rows: stream.rows,
  get step() {
    return stream.step
  },
  sum: stream.sum,
  fork: (sum) => wrap(stream.fork(sum)),
  end: stream.end,
})
