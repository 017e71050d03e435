/** What is written of rows: plain, or in gzip. */
import type { Market } from '#src/domain/market.ts'
import type { EventStream, MarketHistory } from '#src/history/history.ts'
import type { LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'

export type Output = Omit<EventStream, 'fork'> & {
  /** The event of a row that was just read. */
  row(market: Market, row: LiveRow, before: string): Uint8Array<ArrayBuffer>
  fork: (sum: EventStream['sum']) => Output
}

type Sources = { history: MarketHistory; rows: RowReader }
type OutputOptions = {
  filter: RowFilter
  isGzip: boolean
  /** Whether there are rows of several markets, so that each has to name its own. */
  isMixed: boolean
}

export function createOutput({ history, rows }: Sources, options: OutputOptions): Output {
  const { filter, isGzip, isMixed } = options
  const text = { rows, filter, isNaming: isMixed && filter.channel !== 'snapshots' }
  if (!isGzip) return createTextOutput(plain, text)
  const isWhole = filter.channel === 'snapshots' && filter.depth === undefined
  const stream = history.events()
  return isWhole ? createBookOutput(stream) : createTextOutput(stream, text)
}

type TextStream = Pick<EventStream, 'event' | 'step' | 'sum' | 'end'> & {
  fork: (sum: EventStream['sum']) => TextStream
}

const encoder = new TextEncoder()

/** Depends on nothing before it. */
const plain: TextStream = {
  event: (text) => encoder.encode(`${text}\n\n`),
  ...{ step: '', sum: { crc: 0, bytes: 0 } },
  fork: () => plain,
  end: () => new Uint8Array(0),
}

/** `isNaming` where rows do not name their market by themselves, and have to. */
type TextOptions = { rows: RowReader; filter: RowFilter; isNaming: boolean }

/** Rows as they are read. */
function createTextOutput(stream: TextStream, options: TextOptions): Output {
  const { rows, filter, isNaming } = options
  const row: Output['row'] = ({ conditionId }, { text, outcome }, before) => {
    const data = isNaming ? `{"conditionId":"${conditionId}",${text.slice(1)}` : text
    return stream.event(before + data, `${conditionId} ${outcome}`)
  }
  return {
    event: stream.event,
    row,
    rows({ market, after = { timestampMs: 0, id: 0 }, toMs, limit }, before) {
      const page = rows.after({ ...filter, market, after, toMs, limit })
      const events = page.rows.map((each) => row(market, each, before(each.position)))
      const { resume: last, hasMore } = page
      return { bytes: Buffer.concat(events), count: events.length, last, hasMore }
    },
    get step() {
      return stream.step
    },
    sum: stream.sum,
    fork: (sum) => createTextOutput(stream.fork(sum), options),
    end: stream.end,
  }
}

/** Whole books, as they are stored. */
const createBookOutput = (stream: EventStream): Output => ({
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
  fork: (sum) => createBookOutput(stream.fork(sum)),
  end: stream.end,
})
