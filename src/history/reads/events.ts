/** Rows as events of a lasting stream that many subscribers share. */
import { ChunkDecoder, indexesOf } from '../codec/chunk-decoder.ts'
import type { Chunk } from '../codec/chunk.ts'
import { EventEncoder, type Kept } from '../codec/event-encoder.ts'
import { RowText, writeRowText } from '../codec/row-text.ts'
import type { EventStream, MarketHistory, TextSum } from '../history.ts'
import type { Tables } from '../tables/tables.ts'
import type { ReadMarket } from './market-read.ts'
import { selectRows } from './selection.ts'

/** The last texts of a stream by name, and rows by market and outcome. */
type Last = Map<string, Kept>

export function createEventReads(
  { chunks, snapshots }: Tables,
  read: ReadMarket,
): Pick<MarketHistory, 'events'> {
  const decoder = new ChunkDecoder()
  const texts = [new RowText(), new RowText()] as const

  function readRow(chunk: Chunk, row: number, slot: 0 | 1): RowText {
    const text = texts[slot]
    writeRowText(text, snapshots.scan(decoder.text(chunk, row), {}))
    return text
  }
  // Shared by all streams: its output is taken before anything else is encoded.
  const encoder = new EventEncoder(readRow)

  const open = (last: Last, sum: TextSum): EventStream => ({
    sum,

    get step() {
      const parts = [...last].map(([name, { text, end, row }]) => {
        return `${name} ${row?.chunk.id(row.row)} ${sum.bytes - end} ${text}`
      })
      return parts.sort().join()
    },

    event(lines, name) {
      encoder.begin(sum.bytes === 0)
      const kept = encoder.text(lines, sum, name === undefined ? undefined : last.get(name))
      if (name !== undefined) last.set(name, kept)
      return encoder.take()
    },

    rows(query, before) {
      const { conditionId } = query.market
      const selection = read(query.market, (view) =>
        selectRows({ view, chunks }, { ...query, order: 'asc' }),
      )
      encoder.begin(sum.bytes === 0)
      for (const slice of selection.slices) {
        const { chunk } = slice
        for (const row of indexesOf(slice)) {
          const name = `${conditionId} ${chunk.outcome(row)}`
          const place = { timestampMs: chunk.timeMs(row), id: chunk.id(row) }
          const event = { chunk, row, before: before(place) }
          last.set(name, encoder.row(event, sum, last.get(name)))
        }
      }
      const { count, hasMore } = selection
      return { bytes: encoder.take(), count, last: selection.last, hasMore }
    },

    fork(other) {
      const moved = other.bytes - sum.bytes
      const kept = [...last].map(
        ([name, each]) => [name, { ...each, end: each.end + moved }] as const,
      )
      return open(new Map(kept), { ...other })
    },

    end: () => encoder.end(sum),
  })

  return { events: () => open(new Map(), { crc: 0, bytes: 0 }) }
}
