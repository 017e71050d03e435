/** Encodes rows as events, plain or in gzip. */
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { EventStream, MarketHistory } from '#src/history/history.ts'
import type { Coming, FeedQuery, LiveRow, RowFilter, RowReader } from '#src/live/rows.ts'

type EventPage = {
  bytes: Uint8Array<ArrayBuffer>
  resume: Position
  hasMore: boolean
  seen?: number | undefined
}

export type EventEncoder = Pick<EventStream, 'event' | 'step' | 'sum' | 'end'> & {
  /** Encodes rows: for each, the text of `before` and then the JSON object. */
  rows(query: FeedQuery, before: (row: Position, isLate?: boolean) => string): EventPage | Coming
  /** Encodes a row that was just read. */
  row(market: Market, row: LiveRow, before: string): Uint8Array<ArrayBuffer>
  /** Creates another encoder of the same step, for a stream with an earlier text. */
  fork(sum: EventStream['sum']): EventEncoder
}

type EncoderOptions = {
  filter: RowFilter
  isGzip: boolean
  /** True if the stream has several markets, so that each row has to name its market. */
  isMixed: boolean
}

export function createEventEncoder(
  history: Pick<MarketHistory, 'events' | 'ready'>,
  rows: RowReader,
  { filter, isGzip, isMixed }: EncoderOptions,
): EventEncoder {
  const isNaming = isMixed && filter.channel !== 'snapshots'
  if (!isGzip) return encodeTexts(plain, rows, filter, isNaming)
  const isWhole = filter.channel === 'snapshots' && filter.depth === undefined
  const stream = history.events()
  return isWhole
    ? encodeBooks(stream, history, filter)
    : encodeTexts(stream, rows, filter, isNaming)
}

type TextStream = Pick<EventStream, 'event' | 'step' | 'sum' | 'end'> & {
  fork: (sum: EventStream['sum']) => TextStream
}

const encoder = new TextEncoder()

/** The state of plain text, which depends on no earlier text. */
const plain: TextStream = {
  event: (text) => encoder.encode(`${text}\n\n`),
  step: '',
  sum: { crc: 0, bytes: 0 },
  fork: () => plain,
  end: () => new Uint8Array(0),
}

/** Encodes rows as text. `isNaming` adds the market to rows that do not name it. */
function encodeTexts(
  stream: TextStream,
  reader: RowReader,
  filter: RowFilter,
  isNaming: boolean,
): EventEncoder {
  const row: EventEncoder['row'] = ({ conditionId }, { text, outcome }, before) => {
    const data = isNaming ? `{"conditionId":"${conditionId}",${text.slice(1)}` : text
    return stream.event(before + data, `${conditionId} ${outcome}`)
  }
  return {
    event: stream.event,
    row,
    rows(query, before) {
      const page = reader.after({ ...filter, ...query })
      if (page instanceof Promise) return page
      const { rows, resume, hasMore, seen } = page
      const events = rows.map((each) => row(query.market, each, before(each.position, each.isLate)))
      return { bytes: Buffer.concat(events), resume, hasMore, seen }
    },
    get step() {
      return stream.step
    },
    sum: stream.sum,
    fork: (sum) => encodeTexts(stream.fork(sum), reader, filter, isNaming),
    end: stream.end,
  }
}

/** Encodes whole books from their stored bytes. */
const encodeBooks = (
  stream: EventStream,
  history: Pick<MarketHistory, 'ready'>,
  filter: RowFilter,
): EventEncoder => ({
  event: stream.event,
  row(market, { position, outcome }, before) {
    const after = { ...position, id: position.id - 1 }
    return stream.rows({ market, outcome: outcome ?? undefined, after, limit: 1 }, () => before)
      .bytes
  },
  rows(query, before) {
    const range = { ...query, outcome: filter.outcome }
    const coming = history.ready([{ ...range, order: 'asc' }])
    if (coming !== undefined) return coming
    const { bytes, last, hasMore } = stream.rows(range, before)
    return { bytes, resume: last ?? query.after, hasMore }
  },
  get step() {
    return stream.step
  },
  sum: stream.sum,
  fork: (sum) => encodeBooks(stream.fork(sum), history, filter),
  end: stream.end,
})
