/** The verbs that read rows of one market. */
import type { Market, Outcome } from '#src/core/market.ts'

import { PageEncoder } from '../codec/page-encoder.ts'
import { RowTexts } from '../codec/row-texts.ts'
import type { Picks, Slice } from '../codec/slice-decoder.ts'
import type { Encoding, HistoryStore, Page, RowQuery, StoredRow } from '../history.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import { findBeside, findLastRow, findPosition, listReceived } from '../tables/stored-row.ts'
import type { ReadMarket } from './market-read.ts'
import { select, type Selection } from './page.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import { selectSteps, type StepSelection } from './step-rows.ts'
import { listTops } from './tops.ts'

type Tables = { chunks: ChunkTable; reader: SnapshotReader }
type Verbs = Pick<HistoryStore, 'page' | 'at' | 'latest' | 'findPosition' | 'tops'>

/** For the pages that must be compressed at request: the level that costs least. */
const GZIP_LEVEL = 1
const NONE: readonly undefined[] = []

export function createRowReaders({ chunks, reader }: Tables, read: ReadMarket): Verbs {
  const encoder = new PageEncoder()
  const rowTexts = new RowTexts()

  function findLast(
    market: Market,
    moment: { outcome: Outcome; toMs: number },
  ): StoredRow | undefined {
    const found = read(market, (view) => findLastRow(view, chunks, moment))
    if (found === undefined) return undefined
    const { chunk, row } = found
    const position = { timestampMs: chunk.timeMs(row), id: chunk.id(row) }
    const beside = () => read(market, (view) => findBeside(view, chunks, position))
    return {
      ...position,
      text: () => reader.readText(chunk, row),
      snapshot: () => reader.readRow(chunk, row, beside()),
      receivedMs: () => beside().receivedMs,
    }
  }

  return {
    page(query: RowQuery): Page {
      const { order, stepMs, withReceived = false } = query
      const choose = stepMs === undefined ? select : selectSteps
      const [selection, received, { revision }] = read(query.market, (view) => {
        const chosen = choose(view, chunks, query)
        const times = withReceived ? listReceived(view, chunks, partsOf(chosen)) : NONE
        return [chosen, times, view.market]
      })
      const { count, last, hasMore } = selection
      return {
        ...{ revision, count, last, hasMore },
        received: order === 'asc' ? received : received.toReversed(),
        encode: (encoding, prefix, suffix) =>
          encode({ encoder, rowTexts, order }, selection, { encoding, prefix, suffix }),
        texts: () => rowTexts.texts({ parts: partsOf(selection), order }),
      }
    },

    at: ({ market, outcome, timestampMs }) => findLast(market, { outcome, toMs: timestampMs + 1 }),
    latest: ({ market, outcome }) => findLast(market, { outcome, toMs: Number.MAX_SAFE_INTEGER }),
    findPosition: (market, id) => read(market, (view) => findPosition(view, chunks, id)),
    tops: (query) => read(query.market, (view) => listTops(view, chunks, query)),
  }
}

type Encoders = { encoder: PageEncoder; rowTexts: RowTexts; order: RowQuery['order'] }
type PageParts = { encoding: Encoding; prefix: string; suffix: string }

/** Frames only join forwards, row after row: what skips or goes backwards is decoded. */
function encode(
  { encoder, rowTexts, order }: Encoders,
  selection: Selection | StepSelection,
  { encoding, prefix, suffix }: PageParts,
): Uint8Array<ArrayBuffer> {
  if (order === 'asc' && 'slices' in selection)
    return encoder[encoding](selection.slices, prefix, suffix)
  const text = rowTexts.joined({ parts: partsOf(selection), order }, prefix, suffix)
  return encoding === 'gzip' ? Bun.gzipSync(text, { level: GZIP_LEVEL }) : text
}

const partsOf = (selection: Selection | StepSelection): readonly (Slice | Picks)[] =>
  'slices' in selection ? selection.slices : selection.picks
