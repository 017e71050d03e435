/** The verbs that read rows: pages, best levels, single rows and long streams. */

import { assertSound } from '#src/database/checksum.ts'
import type { Market, Outcome } from '#src/domain/market.ts'
import { type Beside, comparePositions, type Position } from '#src/domain/snapshot.ts'
import { LevelColumns } from '#src/domain/wire/level-columns.ts'

import { TOP_FIELDS } from '../codec/beside.ts'
import {
  ChunkDecoder,
  indexesOf,
  PageTexts,
  type Picks,
  type Slice,
  SliceDecoder,
} from '../codec/chunk-decoder.ts'
import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import { LineEncoder } from '../codec/line-encoder.ts'
import { ownChunkOf } from '../codec/own-chunk.ts'
import { PageEncoder } from '../codec/page-encoder.ts'
import {
  type LinePiece,
  type MarketHistory,
  type Page,
  PIECE_ROWS,
  type RowQuery,
  type RowRun,
  type RunQuery,
  type StoredRow,
  type StreamQuery,
  type Top,
} from '../history.ts'
import type { ChunkRef, ChunkTable } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { MarketView, ReadMarket } from './market-read.ts'
import {
  chunksById,
  findRef,
  type PageSlice,
  runsOf,
  type Selection,
  selectRows,
  selectSteps,
  sliceOf,
  type StepSelection,
  toBounds,
} from './selection.ts'

type Verbs = Pick<
  MarketHistory,
  'page' | 'at' | 'latest' | 'lastPosition' | 'findPosition' | 'tops'
>

/** The cheapest level, for pages that must be compressed per request. */
const GZIP_LEVEL = 1
const NONE: readonly undefined[] = []

export function createPageReads({ chunks, snapshots }: Tables, read: ReadMarket): Verbs {
  const encoder = new PageEncoder()
  const texts = new PageTexts()
  const ownOf = createOwnReads(chunks)

  function findLast(market: Market, outcome: Outcome, toMs: number): StoredRow | undefined {
    const before = { timestampMs: toMs, id: 0 }
    const found = read(market, (view) => findLastRow(view, chunks, { outcome, before }))
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
      const { order, outcome, stepMs, withReceived = false } = query
      const code = outcome && outcomeCodes[outcome]
      const [selection, received, { revision }] = read(query.market, (view) => {
        const chosen =
          stepMs === undefined
            ? selectRows(code === undefined ? { view, chunks } : ownOf(view, code), query)
            : selectSteps(view, chunks, query)
        const times = withReceived ? listReceived(view, chunks, partsOf(chosen)) : NONE
        return [chosen, times, view.market]
      })
      const { count, last, hasMore } = selection
      return {
        revision,
        count,
        last,
        hasMore,
        received: order === 'asc' ? received : received.toReversed(),
        // Frames can only be joined forwards, row by row; all other queries decode.
        encode(encoding, prefix, suffix) {
          if (order === 'asc' && 'slices' in selection)
            return encoder[encoding](selection.slices, prefix, suffix)
          const text = texts.joined({ parts: partsOf(selection), order }, prefix, suffix)
          return encoding === 'gzip' ? Bun.gzipSync(text, { level: GZIP_LEVEL }) : text
        },
        texts: () => texts.each({ parts: partsOf(selection), order }),
      }
    },

    at: ({ market, outcome, timestampMs }) => findLast(market, outcome, timestampMs + 1),
    latest: ({ market, outcome }) => findLast(market, outcome, Number.MAX_SAFE_INTEGER),
    lastPosition: (market) => read(market, findEnd),
    findPosition: (market, id) => read(market, (view) => findPosition(view, chunks, id)),
    tops: (query) => read(query.market, (view) => listTops(view, chunks, query)),
  }
}

/** Reads of one outcome, from chunks with only its rows. */
function createOwnReads(chunks: ChunkTable) {
  const tails = new WeakMap<Chunk, Chunk[]>()

  function ownTailOf(chunk: Chunk, outcome: number): Chunk {
    const known = tails.get(chunk) ?? []
    const own = known[outcome] ?? ownChunkOf(chunk, outcome)
    known[outcome] = own
    tails.set(chunk, known)
    return own
  }

  return ({ tail, ...view }: MarketView, outcome: number) => ({
    chunks: { load: (ref: ChunkRef) => chunks.loadOwn(ref, outcome) },
    view: {
      ...view,
      tail: tail?.chunk.hasBoth ? { ...tail, chunk: ownTailOf(tail.chunk, outcome) } : tail,
    },
  })
}

const partsOf = (selection: Selection | StepSelection): readonly (Slice | Picks)[] =>
  'slices' in selection ? selection.slices : selection.picks

function listTops(view: MarketView, chunks: ChunkTable, query: RowQuery): Top[] {
  const tops: Top[] = []
  const { slices } = selectRows({ view, chunks }, query)
  for (const slice of slices) {
    const { chunk, ref } = slice
    const ofSlice = ref === undefined ? view.tail?.tops : chunks.loadTops(ref, chunk)
    if (ofSlice !== undefined) addTops(tops, slice, ofSlice)
  }
  if (query.withReceived) {
    for (const [row, receivedMs] of listReceived(view, chunks, slices).entries()) {
      Object.assign(tops[row] ?? {}, { receivedMs })
    }
  }
  return query.order === 'asc' ? tops : tops.reverse()
}

/** On the path of whole markets: allocates one object per row and nothing else. */
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
      outcome: nameOf(code),
      bidPrice: columns[at] ?? 0,
      bidSize: columns[at + 1] ?? 0,
      askPrice: columns[at + 2] ?? 0,
      askSize: columns[at + 3] ?? 0,
    })
  }
}

export const nameOf = (code: number): Outcome => (code === outcomeCodes.up ? 'up' : 'down')

function findEnd({ refs, tail }: MarketView): Position | undefined {
  if (tail !== undefined && tail.chunk.count > 0) {
    const { chunk } = tail
    return { timestampMs: chunk.timeMs(chunk.count - 1), id: chunk.id(chunk.count - 1) }
  }
  const last = refs.at(-1)
  return last && { timestampMs: last.lastMs, id: last.lastId }
}

/**
 * Finds the last row of an outcome before a position, in a cached chunk, which stays readable
 * whatever happens to the file.
 */
export function findLastRow(
  view: MarketView,
  chunks: ChunkTable,
  { outcome, before }: { outcome: Outcome; before: Position },
): { chunk: Chunk; row: number } | undefined {
  const code = outcomeCodes[outcome]
  const bounds = toBounds({ outcome, after: before, order: 'desc' })
  for (const { chunk } of runsOf(view, { chunks }, bounds)) {
    const row = chunk.previousRowOf(code, chunk.seek(before.timestampMs, before.id))
    if (row >= 0) return { chunk, row }
  }
  return undefined
}

/**
 * Reads the additional columns of a row, which is searched again because its chunk may have been
 * split meanwhile.
 */
function findBeside({ refs, tail }: MarketView, chunks: ChunkTable, position: Position): Beside {
  const { timestampMs, id } = position
  const ref = refs[findRef(refs, position)]
  const chunk = ref === undefined ? tail?.chunk : chunks.load(ref)
  const row = chunk?.seek(timestampMs, id) ?? 0
  // A better book may have replaced it.
  if (chunk === undefined || row === chunk.count || chunk.id(row) !== id) return {}
  return ref === undefined
    ? (tail?.beside(row) ?? {})
    : chunks.loadBeside(ref, chunk)(row, timestampMs)
}

/** Times of receipt of the rows of parts of this view, in the order of the parts. */
const listReceived = (
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  parts: readonly (Slice | Picks)[],
): (number | undefined)[] => {
  const ofPart = (part: Slice | Picks): (number | undefined)[] => {
    const { chunk } = part
    const rows = indexesOf(part)
    const [first = 0] = rows
    const ref = refs[findRef(refs, { timestampMs: chunk.timeMs(first), id: chunk.id(first) })]
    const whole = ref === undefined ? tail?.chunk : chunks.load(ref)
    if (whole === undefined) return []
    const besideOf = ref === undefined ? tail?.beside : chunks.loadBeside(ref, whole)
    return rows.map((row) => {
      const timeMs = chunk.timeMs(row)
      return besideOf?.(whole.seek(timeMs, chunk.id(row)), timeMs).receivedMs
    })
  }
  return parts.flatMap(ofPart)
}

/** Ids increase with positions except for late rows, so likely chunks are searched first. */
export function findPosition(
  { refs, tail }: MarketView,
  chunks: ChunkTable,
  id: number,
): Position | undefined {
  const { likely, others } = chunksById(refs, id)
  const ordered = [...likely, ...others]
  const search = (ref: ChunkRef): Position | undefined => {
    if (likely.includes(ref)) return positionIn(chunks.load(ref), id)
    // Most other chunks will not be needed again.
    const chunk = chunks.pass(ref)
    try {
      return positionIn(chunk, id)
    } finally {
      chunk.release()
    }
  }
  let found = tail && positionIn(tail.chunk, id)
  for (let at = 0, ref = ordered[0]; !found && ref !== undefined; ref = ordered[++at])
    found = search(ref)
  return found
}

function positionIn(chunk: Chunk, id: number): Position | undefined {
  for (let row = 0; row < chunk.count; row++) {
    if (chunk.id(row) === id) return { timestampMs: chunk.timeMs(row), id }
  }
  return undefined
}

/**
 * Walks through all rows of a query. Each slice is searched after the last used row, in the current
 * state of the market: concurrent writes appear, and no row is skipped or repeated. Its chunks stay
 * in the cache if `isKept`.
 */
export function createWalk(chunks: ChunkTable, query: StreamQuery, isKept = false) {
  const bounds = toBounds({ ...query, order: 'asc', limit: 0 })
  // The next slice is often from the chunk that was read last.
  let held: { id: number; chunk: Chunk } | undefined
  const load = (ref: ChunkRef): Chunk => {
    if (isKept) return chunks.load(ref)
    if (held?.id === ref.id) return held.chunk
    held?.chunk.release()
    held = undefined
    held = { id: ref.id, chunk: chunks.pass(ref) }
    return held.chunk
  }

  return {
    /** Ends the walk. */
    [Symbol.dispose]: (): void => held?.chunk.release(),

    /**
     * Continues after a row. Positions never decrease, even in a damaged file. Throws a `damage`
     * fault.
     */
    goAfter({ timestampMs, id }: Position): void {
      const next = { timestampMs, id: id + 1 }
      assertSound(comparePositions(next, bounds.start) >= 0, 'the order of its chunks')
      bounds.start = next
    },

    /**
     * The next rows from one chunk; undefined if there are currently none. Throws a `chunk_gone`
     * fault.
     */
    find(view: MarketView): PageSlice | undefined {
      for (const run of runsOf(view, { chunks: { load } }, bounds)) {
        const slice = sliceOf(run, bounds)
        const { chunk, from, to, outcome } = slice
        if ((outcome === undefined ? from : chunk.nextRowOf(outcome, from)) < to) return slice
      }
      return undefined
    },
  }
}

export function createBulkReads(
  { chunks }: Tables,
  read: ReadMarket,
  ready: MarketHistory['ready'],
): Pick<MarketHistory, 'lines' | 'runs'> {
  // Shared by all streams: no text outlives the step that reads it.
  const rows = new ChunkDecoder()
  const decoder = new SliceDecoder()

  function* pieces(encoder: LineEncoder, query: StreamQuery): Generator<LinePiece> {
    using walk = createWalk(chunks, query)
    for (let isMore = true; isMore;) {
      encoder.begin()
      isMore = read(query.market, (view) => fill(encoder, walk, view, query))
      const { rowCount, last } = encoder
      if (last !== undefined) yield { bytes: encoder.take(), rows: rowCount, last }
    }
  }

  /**
   * Adds rows to a piece until it is full or the next rows are not here; false if none are left.
   */
  function fill(
    encoder: LineEncoder,
    walk: ReturnType<typeof createWalk>,
    view: MarketView,
    query: StreamQuery,
  ): boolean {
    for (let end = PIECE_ROWS; !encoder.isFull;) {
      const slice = walk.find(view)
      if (slice === undefined) return false
      encoder.add(slice)
      if (encoder.last !== undefined) walk.goAfter(encoder.last)
      if (encoder.rowCount < end) continue
      const next = { ...query, order: 'asc', after: encoder.last, limit: PIECE_ROWS } as const
      // The caller awaits them before it reads the next piece.
      if (ready([next]) !== undefined) return true
      end = encoder.rowCount + PIECE_ROWS
    }
    return true
  }

  function toRun(
    slice: PageSlice,
    { tail }: MarketView,
    { columns, withReceived }: Pick<RunQuery, 'withReceived'> & { columns: LevelColumns },
  ): RowRun {
    const { chunk, ref } = slice
    const loadBeside = () => (ref === undefined ? tail?.beside : chunks.loadBeside(ref, chunk))
    const besideOf = withReceived ? loadBeside() : undefined
    const found: RowRun['rows'][number][] = []
    const besides: Beside[] = []
    columns.reset()
    decoder.forEach(slice, (text, row, copies) => {
      const code = chunk.outcome(row)
      const timestampMs = chunk.timeMs(row)
      found.push({ timestampMs, id: chunk.id(row), outcome: nameOf(code) })
      if (besideOf !== undefined) besides.push(besideOf(row, timestampMs))
      columns.add(text, code, copies)
    })
    const { ends, prices, sizes } = columns
    return { rows: found, besides, ends, prices, sizes }
  }

  function* runs(query: RunQuery): Generator<RowRun> {
    using walk = createWalk(chunks, query)
    const columns = new LevelColumns(query.depth ?? Number.POSITIVE_INFINITY)
    for (;;) {
      const run = read(query.market, (view) => {
        const slice = walk.find(view)
        return slice && toRun(slice, view, { ...query, columns })
      })
      const last = run?.rows.at(-1)
      if (run === undefined || last === undefined) return
      walk.goAfter(last)
      yield run
    }
  }

  return {
    runs,

    lines(encoding) {
      const encoder = new LineEncoder(encoding, rows)
      return {
        rows: (query) => pieces(encoder, query),
        end: () => encoder.end(),
        get textBytes() {
          return encoder.textBytes
        },
        get textCrc() {
          return encoder.textCrc
        },
      }
    },
  }
}
