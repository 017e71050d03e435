/** The verbs that read rows of one market. */
import type { Market, Outcome } from '#src/core/market.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import { PageEncoder } from '../codec/page-encoder.ts'
import { PageTexts, type Picks, type Slice } from '../codec/slices.ts'
import { TOP_FIELDS } from '../codec/tops.ts'
import type { Encoding, MarketHistory, Page, RowQuery, StoredRow, Top } from '../history.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import { findBeside, findLastRow, findPosition, listReceived } from './lookups.ts'
import type { ReadMarket } from './market-read.ts'
import { type PageSlice, type Selection, selectRows } from './selection.ts'
import { selectSteps, type StepSelection } from './step-selection.ts'
import type { MarketView } from './views.ts'

type Verbs = Pick<MarketHistory, 'page' | 'at' | 'latest' | 'findPosition' | 'tops'>

/** For the pages that must be compressed at request: the level that costs least. */
const GZIP_LEVEL = 1
const NONE: readonly undefined[] = []

export function createPageReads({ chunks, snapshots }: Tables, read: ReadMarket): Verbs {
  const encoder = new PageEncoder()
  const texts = new PageTexts()

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
      text: () => snapshots.textOf(chunk, row),
      snapshot: () => snapshots.ofRow(chunk, row, beside()),
      receivedMs: () => beside().receivedMs,
    }
  }

  return {
    page(query: RowQuery): Page {
      const { order, stepMs, withReceived = false } = query
      const choose = stepMs === undefined ? selectRows : selectSteps
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
          encode({ encoder, texts, order }, selection, { encoding, prefix, suffix }),
        texts: () => texts.each({ parts: partsOf(selection), order }),
      }
    },

    at: ({ market, outcome, timestampMs }) => findLast(market, { outcome, toMs: timestampMs + 1 }),
    latest: ({ market, outcome }) => findLast(market, { outcome, toMs: Number.MAX_SAFE_INTEGER }),
    findPosition: (market, id) => read(market, (view) => findPosition(view, chunks, id)),
    tops: (query) => read(query.market, (view) => listTops(view, chunks, query)),
  }
}

type Encoders = { encoder: PageEncoder; texts: PageTexts; order: RowQuery['order'] }
type PageParts = { encoding: Encoding; prefix: string; suffix: string }

/** Frames only join forwards, row after row: what skips or goes backwards is decoded. */
function encode(
  { encoder, texts, order }: Encoders,
  selection: Selection | StepSelection,
  { encoding, prefix, suffix }: PageParts,
): Uint8Array<ArrayBuffer> {
  if (order === 'asc' && 'slices' in selection)
    return encoder[encoding](selection.slices, prefix, suffix)
  const text = texts.joined({ parts: partsOf(selection), order }, prefix, suffix)
  return encoding === 'gzip' ? Bun.gzipSync(text, { level: GZIP_LEVEL }) : text
}

const partsOf = (selection: Selection | StepSelection): readonly (Slice | Picks)[] =>
  'slices' in selection ? selection.slices : selection.picks

/** Lists the tops of the rows of a query, in its order. */
function listTops(view: MarketView, chunks: ChunkTable, query: RowQuery): Top[] {
  const tops: Top[] = []
  const { slices } = selectRows(view, chunks, query)
  for (const slice of slices) {
    const { chunk, ref } = slice
    const columns = ref === undefined ? view.tail?.tops : chunks.loadTops(ref, chunk)
    if (columns !== undefined) addTops(tops, slice, columns)
  }
  if (query.withReceived) {
    for (const [row, receivedMs] of listReceived(view, chunks, slices).entries()) {
      Object.assign(tops[row] ?? {}, { receivedMs })
    }
  }
  return query.order === 'asc' ? tops : tops.reverse()
}

/** Whole markets go through here: one object a row and nothing else. */
function addTops(
  tops: Top[],
  { chunk, from, to, outcome }: PageSlice,
  columns: Float64Array,
): void {
  for (let row = from; row < to; row++) {
    const code = chunk.outcome(row)
    if (outcome !== undefined && code !== outcome) continue
    const at = row * TOP_FIELDS
    tops.push({
      timestampMs: chunk.timeMs(row),
      id: chunk.id(row),
      outcome: code === outcomeCodes.up ? 'up' : 'down',
      bidPrice: columns[at] ?? 0,
      bidSize: columns[at + 1] ?? 0,
      askPrice: columns[at + 2] ?? 0,
      askSize: columns[at + 3] ?? 0,
    })
  }
}
