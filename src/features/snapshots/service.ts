/** Pages of snapshots. What decides their bytes is in their tags, the market's revision too. */

import { consolidate } from '#src/domain/consolidated.ts'
import { coverageText } from '#src/domain/coverage.ts'
import { type CursorCodec, decodePosition, encodePosition, startOf } from '#src/domain/cursor.ts'
import { type Market, otherOutcome, type Outcome } from '#src/domain/market.ts'
import { intervalMs } from '#src/domain/series.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { stepOf } from '#src/domain/steps.ts'
import { historyTagOf, tagOf } from '#src/domain/tag.ts'
import { type Clock, readRange } from '#src/domain/time.ts'
import {
  type ConsolidatedRow,
  createConsolidatedPrinter,
} from '#src/domain/wire/consolidated-text.ts'
import {
  createRowCut,
  type CutRow,
  isWhole,
  nameOf,
  type RowCut,
  wantsReceived,
} from '#src/domain/wire/row-cut.ts'
import { createSnapshotScanner } from '#src/domain/wire/snapshot-json.ts'
import type { Encoding, MarketHistory, Page as StorePage, RowQuery } from '#src/history/history.ts'
import { withSteps } from '#src/history/reads/known-steps.ts'
import { coverageAt, openKnown, toMoment } from '#src/history/reads/known.ts'
import type { PageAnswer } from '#src/http/data-response.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'
import type { MadePage, Page, PageCache } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { PageQuery } from './schema.ts'

export type SnapshotDeps = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
  pages: PageCache
}

/** `tag` is the page's at the market's revision of the moment, `key` all of it but that. */
type PageRequest = {
  tag: string
  key: string
  scope: string
  rows: RowQuery
  cut: RowCut
  view: PageQuery['view']
  encoding: Encoding
}
type Asked = { market: Market; query: PageQuery; cut: RowCut; encoding: Encoding }
type PageEnd = { last: Position | undefined; hasMore: boolean }

const PREFIX = '{"data":['
const CUT_BYTES_START = 65_536

export function createSnapshotService(deps: SnapshotDeps) {
  const { history, cursors, pages, clock } = deps
  const maker = createPageMaker(deps)
  const historyTag = historyTagOf(history.cursorKey)

  return {
    /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
    toRequest({ market, query, cut, encoding }: Asked): PageRequest {
      const { outcome, order, limit, cursor, interval, view, knownAt } = query
      const { fromMs, toMs } = readRange(query)
      const isNow = knownAt === undefined
      const isPlain = isNow && interval === undefined && view === 'own' && isWhole(cut)
      // Cursors do not expire: those of plain pages are as they were before there were others.
      const cuts = isPlain ? '' : `.${interval ?? ''}.${view}.${nameOf(cut)}`
      const more = isNow ? cuts : `${cuts}.${knownAt}`
      const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}${more}`
      const scope = `snapshots ${market.conditionId} ${filters}`
      const after = cursor === undefined ? undefined : decodePosition(cursors.decode(scope, cursor))
      const place = after === undefined ? '' : `${after.timestampMs}.${after.id}`
      const key = `${historyTag}.${market.id}.${filters}.${place}.${limit}.${encoding}`
      const stepMs = interval === undefined ? undefined : intervalMs[interval]
      const withReceived = wantsReceived(cut)
      const range = { fromMs, toMs, order, after, limit, stepMs }
      const rows: RowQuery = { market, outcome, ...range, withReceived }
      return { tag: `${key}.${market.revision}`, key, scope, rows, cut, view, encoding }
    },

    /** The page, if it is kept or its rows only have to be joined; valid until the next call. */
    pageAtOnce(request: PageRequest): Page | undefined {
      const kept = pages.find(request.tag)
      return kept ?? (isJoined(request) ? pages.put(maker.join(request)) : undefined)
    },

    make: maker.make,

    /** The page as it was known at a moment. Throws `invalid_parameter`. */
    *known(request: PageRequest, { knownAt, isGzip }: KnownAt): Steps<PageAnswer> {
      const { tag, view, rows: now } = request
      const needsEvents = now.stepMs !== undefined
      const moment = toMoment(history, { knownAt, nowMs: clock(), needsEvents })
      const { withReceived = false } = now
      const known = yield* openKnown(history, now.market, { ...moment, withReceived })
      const rows = { ...now, market: known.market }
      const own = { ...request, rows }
      return {
        ...{ tag, isGzip, isClosed: now.market.isClosed },
        coverage: coverageAt(moment, coverageOf(own, known.history, moment.atMs)),
        findPage: () => pages.find(tag),
        *make() {
          const isOwn = view === 'own'
          // A consolidated ladder is of the states of both books.
          const stepped = isOwn ? rows : { ...rows, outcome: undefined }
          const source = needsEvents ? yield* withSteps(known, stepped, !isOwn) : known.history
          return yield* createPageMaker({ ...deps, history: source }).make(own)
        },
      }
    },

    coverageOf: (request: PageRequest): string => coverageOf(request, history, clock()),
  }
}

type KnownAt = { knownAt: number; isGzip: boolean }

function coverageOf({ rows, view }: PageRequest, history: MarketHistory, nowMs: number): string {
  const { market, fromMs, toMs } = rows
  // A consolidated ladder is one of both books.
  const outcome = view === 'own' ? rows.outcome : undefined
  return coverageText({ market, gaps: history.gaps(market), outcome, fromMs, toMs, nowMs })
}

/** Frames only join forwards, row after row. */
const isJoined = ({ rows, cut, view }: PageRequest): boolean =>
  view === 'own' && isWhole(cut) && rows.order === 'asc' && rows.stepMs === undefined

/** Rows that are read at once; those of steps lie in as many chunks. */
const BLOCK = 100
const STEPS_BLOCK = 25

/** Apart, because loops of generators are slow. */
function putTexts(
  own: ByteWriter,
  rows: Pick<StorePage, 'texts' | 'received'>,
  { cutRow, isFirst }: { cutRow: CutRow; isFirst: boolean },
): void {
  let row = 0
  for (const text of rows.texts()) {
    if (!isFirst || row > 0) own.text(',')
    own.bytes(cutRow(text, rows.received[row++]))
  }
}

function createPageMaker({ history, cursors }: Pick<SnapshotDeps, 'history' | 'cursors'>) {
  const readConsolidated = createConsolidatedRows(history)
  const print = createConsolidatedPrinter()

  function toEnd({ scope, rows }: PageRequest, { last, hasMore }: PageEnd) {
    const resumeCursor = cursors.encode(scope, encodePosition(last ?? rows.after ?? startOf(rows)))
    return { resumeCursor, suffix: `],"nextCursor":${hasMore ? `"${resumeCursor}"` : 'null'}}` }
  }

  function* putConsolidated(own: ByteWriter, { rows, cut }: PageRequest): Steps<PageEnd> {
    const end: PageEnd = { last: undefined, hasMore: false }
    let count = 0
    for (const slice of readConsolidated(rows)) {
      const taken = slice.slice(0, rows.limit - count)
      for (const row of taken) {
        if (count++ > 0) own.text(',')
        own.bytes(print(row, cut))
        yield
      }
      end.last = taken.at(-1)?.position ?? end.last
      end.hasMore = slice.length > taken.length
      if (end.hasMore) break
      yield
    }
    return end
  }

  function* putRows(own: ByteWriter, { rows, cut }: PageRequest): Steps<PageEnd> {
    const cutRow = createRowCut(cut)
    const block = rows.stepMs === undefined ? BLOCK : STEPS_BLOCK
    const end: PageEnd = { last: undefined, hasMore: true }
    let left = rows.limit
    while (left > 0 && end.hasMore) {
      const after = end.last ?? rows.after
      const page = history.page({ ...rows, after, limit: Math.min(block, left) })
      putTexts(own, page, { cutRow, isFirst: left === rows.limit })
      // By the first block: to grow again and again is to copy everything as often.
      if (left === rows.limit && page.hasMore && page.count > 0) {
        own.reserve(Math.ceil((own.view().length / page.count) * left))
      }
      left -= page.count
      end.last = page.last ?? end.last
      end.hasMore = page.hasMore
      yield
    }
    return end
  }

  return {
    join(request: PageRequest): MadePage {
      const { key, rows, encoding } = request
      const page = history.page(rows)
      const { resumeCursor, suffix } = toEnd(request, page)
      // Another process may have written since the market was found.
      const tag = `${key}.${page.revision}`
      return { tag, body: page.encode(encoding, PREFIX, suffix), resumeCursor }
    },

    *make(request: PageRequest): Steps<MadePage> {
      const { key, rows, view } = request
      const own = new ByteWriter(CUT_BYTES_START)
      own.text(PREFIX)
      const put = view === 'own' ? putRows : putConsolidated
      const { resumeCursor, suffix } = toEnd(request, yield* put(own, request))
      own.text(suffix)
      const { conditionId, revision } = rows.market
      const isUnchanged = history.findMarket(conditionId)?.revision === revision
      // What was written meanwhile may be in it or not.
      const version = isUnchanged ? revision : tagOf(own.view())
      return { tag: `${key}.${version}`, body: own.view(), resumeCursor }
    },
  }
}

/** States read at once: a few milliseconds of work. */
const SLICE_ROWS = 50

/**
 * Yields consolidated ladders of stored states, from the query's place on, whatever its `limit`, in
 * slices that are read when asked for and may be empty. With an `outcome` the ladder is that one's,
 * at the states of both; one whose token is not known has none.
 */
function createConsolidatedRows(history: MarketHistory) {
  const scanner = createSnapshotScanner()

  function readSlice(query: RowQuery): { states: StoredSnapshot[]; hasMore: boolean } {
    const limit = Math.min(SLICE_ROWS, query.limit + 1)
    const page = history.page({ ...query, outcome: undefined, limit })
    const states: StoredSnapshot[] = []
    for (const text of page.texts()) {
      const { id, ...snapshot } = scanner.scan(text, 0, text.length)
      states.push({ ...snapshot, id: Number(id) })
    }
    return { states, hasMore: page.hasMore }
  }

  return function* (query: RowQuery): Generator<ConsolidatedRow[], void> {
    let { after } = query
    for (;;) {
      const { states, hasMore } = readSlice({ ...query, after })
      const wanted = states.filter((state) => !isSuperseded(history, query, state))
      yield toRows(history, query, wanted)
      after = states.at(-1)
      if (!hasMore) return
    }
  }
}

/** With an outcome and a step: whether a state of the other book comes later in the step. */
function isSuperseded(
  history: MarketHistory,
  { market, outcome, stepMs, toMs = Number.POSITIVE_INFINITY }: RowQuery,
  state: StoredSnapshot,
): boolean {
  if (outcome === undefined || stepMs === undefined) return false
  const stepEndMs = stepOf(state.timestampMs, stepMs) * stepMs
  const timestampMs = Math.min(stepEndMs, toMs - 1)
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

/** Looks in the slice itself where that is certain, else in the store; states must ascend. */
function createOtherFinder(history: MarketHistory, { market, states, stepMs }: Slice) {
  const seen = new Map<Outcome, StoredSnapshot | undefined>()
  const lastMs = states.at(-1)?.timestampMs ?? 0
  let ahead = 0

  function isInForce(found: StoredSnapshot | undefined, timestampMs: number): boolean {
    // Of the last moment there may be more after the slice.
    if (stepMs === undefined) return timestampMs < lastMs
    // Between the slice's states there are others, but not after the last of a step.
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
