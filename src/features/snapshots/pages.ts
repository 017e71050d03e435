/** Reads pages of snapshots: as stored frames, or row by row. */

import { consolidate } from '#src/domain/consolidated.ts'
import type { PageEnd } from '#src/domain/cursor.ts'
import type { SnapshotFilters } from '#src/domain/lists.ts'
import { type Market, otherOutcome, type Outcome } from '#src/domain/market.ts'
import { stepMsOf } from '#src/domain/series.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { stepOf } from '#src/domain/steps.ts'
import {
  type ConsolidatedRow,
  createConsolidatedPrinter,
} from '#src/domain/wire/consolidated-text.ts'
import {
  createRowCut,
  type CutRow,
  isUncut,
  type RowCut,
  wantsReceived,
} from '#src/domain/wire/row-cut.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'
import {
  type MarketHistory,
  type Page,
  prevailingRange,
  type RowQuery,
  type RowRange,
} from '#src/history/history.ts'
import { type HistoryPage, type HistoryRequest, PAGE_START } from '#src/http/history-list.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'

type SnapshotRequest = HistoryRequest<SnapshotFilters>

const CUT_BYTES_START = 65_536

function toRowQuery({ market, range, filters }: SnapshotRequest): RowQuery {
  const { interval, cut } = filters
  return { ...range, market, stepMs: stepMsOf(interval), withReceived: wantsReceived(cut) }
}

/** Query of a page that only concatenates stored frames: ascending, row after row. */
export function joinedQuery(request: SnapshotRequest): RowQuery | undefined {
  const { view, cut, interval, order } = request.filters
  const isJoined = view === 'own' && isUncut(cut) && order === 'asc' && interval === undefined
  return isJoined ? toRowQuery(request) : undefined
}

/** Reads a page row by row. */
export async function readSnapshots(
  history: MarketHistory,
  request: SnapshotRequest,
): Promise<HistoryPage> {
  const { view, cut } = request.filters
  const query = toRowQuery(request)
  const body = new ByteWriter(CUT_BYTES_START)
  body.text(PAGE_START)
  const put = view === 'own' ? putRows : putConsolidated
  const end = await put(body, history, query, cut)
  return {
    ...end,
    toBody(text) {
      body.text(text)
      return body.view()
    },
  }
}

/** Rows in one read; rows at steps are each in another chunk. */
const BLOCK = 100
const STEPS_BLOCK = 25

async function putRows(
  body: ByteWriter,
  history: MarketHistory,
  query: RowQuery,
  cut: RowCut,
): Promise<PageEnd<Position>> {
  const cutRow = createRowCut(cut)
  const block = query.stepMs === undefined ? BLOCK : STEPS_BLOCK
  const end: PageEnd<Position> = { last: undefined, hasMore: true }
  let left = query.limit
  while (left > 0 && end.hasMore) {
    const after = end.last ?? query.after
    const part = { ...query, after, limit: Math.min(block, left) }
    await history.ready([part])
    const page = history.page(part)
    putTexts(body, page, cutRow, left === query.limit)
    // Sized by the first block, because growing the buffer copies its content.
    if (left === query.limit && page.hasMore && page.count > 0)
      body.reserve(Math.ceil((body.view().length / page.count) * left))
    left -= page.count
    end.last = page.last ?? end.last
    end.hasMore = page.hasMore
  }
  return end
}

function putTexts(
  body: ByteWriter,
  page: Pick<Page, 'texts' | 'received'>,
  cutRow: CutRow,
  isFirst: boolean,
): void {
  let row = 0
  for (const text of page.texts()) {
    if (!isFirst || row > 0) body.text(',')
    body.bytes(cutRow(text, page.received[row++]))
  }
}

async function putConsolidated(
  body: ByteWriter,
  history: MarketHistory,
  query: RowQuery,
  cut: RowCut,
): Promise<PageEnd<Position>> {
  const print = createConsolidatedPrinter()
  const end: PageEnd<Position> = { last: undefined, hasMore: false }
  let count = 0
  for (let after = query.after, isEnd = false; !isEnd;) {
    const { rows: slice, last, hasMore } = await readConsolidated(history, { ...query, after })
    after = last
    isEnd = !hasMore
    const taken = slice.slice(0, query.limit - count)
    for (const row of taken) {
      if (count++ > 0) body.text(',')
      body.bytes(print(row, cut))
    }
    end.last = taken.at(-1)?.position ?? end.last
    end.hasMore = slice.length > taken.length
    if (end.hasMore) break
  }
  return end
}

/** States in one read, a few milliseconds of work. */
const SLICE_ROWS = 50

/**
 * Reads consolidated ladders of the next stored states, regardless of the `limit` of the query;
 * possibly none has one. With an `outcome`, the ladder is of that outcome, at the states of both.
 * An outcome without a known token has no ladder.
 */
async function readConsolidated(
  history: MarketHistory,
  query: RowQuery,
): Promise<{ rows: ConsolidatedRow[]; last: Position | undefined; hasMore: boolean }> {
  const { market, stepMs } = query
  const { states, hasMore } = await readSlice(history, query)
  const asked = stepMs === undefined ? withoutOther(states, query) : states
  const prevailing = asked.flatMap((state) => {
    const outcome = otherOutcome(state.outcome)
    const atMs = [state.timestampMs, ...(stepMs === undefined ? [] : [lastOfStepMs(query, state)])]
    return atMs.map((timestampMs): RowRange => prevailingRange(market, outcome, timestampMs))
  })
  await history.ready(prevailing)
  const wanted = states.filter((state) => !isSuperseded(history, query, state))
  return { rows: toRows(history, query, wanted), last: states.at(-1), hasMore }
}

/**
 * States whose other book has to be looked up in the store, as `createOtherFinder` does without
 * steps.
 */
function withoutOther(states: readonly StoredSnapshot[], { order }: RowQuery): StoredSnapshot[] {
  const ascending = order === 'asc' ? states : states.toReversed()
  const lastMs = ascending.at(-1)?.timestampMs ?? 0
  const seen = new Set<Outcome>()
  let ahead = 0
  return ascending.filter(({ outcome, timestampMs }) => {
    for (let next = ascending[ahead]; next !== undefined; next = ascending[++ahead]) {
      if (next.timestampMs > timestampMs) break
      seen.add(next.outcome)
    }
    const isFound = seen.has(otherOutcome(outcome)) && timestampMs < lastMs
    seen.add(otherOutcome(outcome))
    return !isFound
  })
}

const scanner = createSnapshotScanner()

async function readSlice(
  history: MarketHistory,
  query: RowQuery,
): Promise<{ states: StoredSnapshot[]; hasMore: boolean }> {
  const slice = { ...query, outcome: undefined, limit: Math.min(SLICE_ROWS, query.limit + 1) }
  await history.ready([slice])
  const page = history.page(slice)
  const states: StoredSnapshot[] = []
  for (const text of page.texts()) {
    const { id, ...snapshot } = scanner.scan(text, 0, text.length)
    states.push({ ...snapshot, id: Number(id) })
  }
  return { states, hasMore: page.hasMore }
}

/** Last moment of the range within the step of a state. */
const lastOfStepMs = (
  { stepMs = 1, toMs = Number.POSITIVE_INFINITY }: RowQuery,
  { timestampMs }: StoredSnapshot,
): number => Math.min(stepOf(timestampMs, stepMs) * stepMs, toMs - 1)

/** With an outcome and a step: true if a state of the other book follows in the same step. */
function isSuperseded(history: MarketHistory, query: RowQuery, state: StoredSnapshot): boolean {
  const { market, outcome, stepMs } = query
  if (outcome === undefined || stepMs === undefined) return false
  const timestampMs = lastOfStepMs(query, state)
  const rival = history.at({ market, outcome: otherOutcome(state.outcome), timestampMs })
  return rival !== undefined && comparePositions(rival, state) > 0
}

function toRows(
  history: MarketHistory,
  { market, outcome, order, stepMs }: RowQuery,
  states: readonly StoredSnapshot[],
): ConsolidatedRow[] {
  const ascending = order === 'asc' ? states : states.toReversed()
  const findOther = createOtherFinder(history, { market, states: ascending, stepMs })
  const rows = ascending.flatMap((state) => {
    const other = findOther(state)
    const shown = outcome ?? state.outcome
    const [own, mirror] = shown === state.outcome ? [state, other] : [other, state]
    const book = consolidate(own, mirror)
    const assetId = market.assetIds[shown] ?? own?.assetId
    if (book === undefined) return []
    const position: Position = { timestampMs: state.timestampMs, id: state.id }
    return [{ market, outcome: shown, assetId, position, book }]
  })
  return order === 'asc' ? rows : rows.reverse()
}

type Slice = { market: Market; states: readonly StoredSnapshot[]; stepMs: number | undefined }

/** Looks up a state in the slice if it must be there, else in the store; states must ascend. */
function createOtherFinder(history: MarketHistory, { market, states, stepMs }: Slice) {
  const seen = new Map<Outcome, StoredSnapshot | undefined>()
  const lastMs = states.at(-1)?.timestampMs ?? 0
  let ahead = 0

  function isInForce(found: StoredSnapshot | undefined, timestampMs: number): boolean {
    // More states of the last moment may follow the slice.
    if (stepMs === undefined) return timestampMs < lastMs
    // Other states may lie between those of the slice, but none follows the last of a step.
    return found !== undefined && stepOf(found.timestampMs, stepMs) === stepOf(timestampMs, stepMs)
  }

  return ({ outcome, timestampMs }: StoredSnapshot): StoredSnapshot | undefined => {
    for (let next = states[ahead]; next !== undefined; next = states[++ahead]) {
      if (next.timestampMs > timestampMs) break
      seen.set(next.outcome, next)
    }
    const other = otherOutcome(outcome)
    if (seen.has(other) && isInForce(seen.get(other), timestampMs)) return seen.get(other)
    const found = history.at({ market, outcome: other, timestampMs })?.snapshot()
    seen.set(other, found)
    return found
  }
}
