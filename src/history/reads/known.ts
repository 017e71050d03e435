/**
 * A market as it was known at a moment: rows that were accepted by then, and were not replaced
 * since. Ids rise in the order of acceptance, and once a second the first one of it is noted.
 */
import { parameterError } from '#src/core/errors.ts'
import type { Market } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { toIso } from '#src/core/time.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { createSnapshotScanner } from '#src/wire/snapshot-json.ts'

import type { MarketHistory, Page, RowQuery, StoredRow, Top } from '../history.ts'

const SECOND_MS = 1000
/** Rows that are looked at in a step: a millisecond of work. */
const BLOCK = 2000
/** Rows whose texts are read at once. */
const TEXTS = 100

type Asked = { market: Market; knownAt: number; nowMs: number }

/**
 * The first id that was not known at the whole second at or before a moment. Throws
 * `invalid_parameter` for a moment that cannot be answered, with the first that can.
 */
export function knownBelow(
  { revisions }: Pick<MarketHistory, 'revisions'>,
  { market, knownAt, nowMs }: Asked,
): number {
  if (knownAt > nowMs) {
    throw parameterError('knownAt', '`knownAt` is in the future. Leave it out for what is known.')
  }
  const second = Math.floor(knownAt / SECOND_MS)
  const noted = Math.max(revisions.sinceMs(), revisions.lastRemovalMs(market.conditionId))
  const firstSecond = Math.floor(noted / SECOND_MS) + 1
  if (second >= firstSecond) return revisions.firstIdFrom(second)
  throw parameterError(
    'knownAt',
    `What was known of this market at ${toIso(second * SECOND_MS)} is not kept. The first moment that can be answered is ${toIso(firstSecond * SECOND_MS)}: what changed before was not noted, or rows were replaced since.`,
  )
}

/** The verbs that read rows of a market, without those that were not known, in steps. */
export function* openKnown(
  history: MarketHistory,
  market: Market,
  belowId: number,
): Steps<MarketHistory> {
  const endMs = yield* findEnd(history, market, belowId)
  const reads = createKnownReads(history, { belowId, endMs })
  return { ...history, ...reads }
}

/** After the last row that was known; 0 if none was. */
function* findEnd(
  history: Pick<MarketHistory, 'tops'>,
  market: Market,
  belowId: number,
): Steps<number> {
  let after: Position | undefined
  for (;;) {
    const block = history.tops({ market, order: 'desc', after, limit: BLOCK })
    const last = block.find(({ id }) => id < belowId)
    if (last !== undefined) return last.timestampMs + 1
    if (block.length < BLOCK) return 0
    after = block.at(-1)
    yield
  }
}

type Known = { belowId: number; endMs: number }

function createKnownReads(history: MarketHistory, { belowId, endMs }: Known) {
  const scanner = createSnapshotScanner()
  const clamp = <Query extends RowQuery>(query: Query): Query => ({
    ...query,
    toMs: Math.min(query.toMs ?? endMs, endMs),
  })

  function tops(asked: RowQuery): Top[] {
    const query = clamp(asked)
    const found: Top[] = []
    let { after } = query
    for (;;) {
      const block = history.tops({ ...query, after, limit: BLOCK })
      found.push(...block.filter(({ id }) => id < belowId))
      if (found.length >= query.limit || block.length < BLOCK) return found.slice(0, query.limit)
      after = block.at(-1)
    }
  }

  /** The texts of rows that were known, with their places. */
  function* rowsOf(query: RowQuery): Generator<{ row: Top; text: Uint8Array }> {
    let { after } = query
    for (;;) {
      const part = { ...query, after, limit: TEXTS }
      const places = history.tops(part)
      let at = 0
      for (const text of history.page(part).texts()) {
        const row = places[at++]
        if (row !== undefined && row.id < belowId) yield { row, text: text.slice() }
      }
      if (places.length < TEXTS) return
      after = places.at(-1)
    }
  }

  function page(asked: RowQuery): Page {
    const rows = [...rowsOf(clamp(asked)).take(asked.limit + 1)]
    const taken = rows.slice(0, asked.limit)
    const joined = (prefix: string, suffix: string) =>
      Buffer.concat([
        Buffer.from(prefix),
        ...taken.flatMap(({ text }, at) => (at === 0 ? [text] : [Buffer.from(','), text])),
        Buffer.from(suffix),
      ])
    return {
      ...{ revision: asked.market.revision, count: taken.length, last: taken.at(-1)?.row },
      ...{ hasMore: rows.length > taken.length, received: [] },
      encode: (encoding, prefix, suffix) => {
        const bytes = new Uint8Array(joined(prefix, suffix))
        return encoding === 'gzip' ? Bun.gzipSync(bytes) : bytes
      },
      texts: () => taken.map(({ text }) => text),
    }
  }

  function at({ market, outcome, timestampMs }: Parameters<MarketHistory['at']>[0]) {
    const query = { market, outcome, toMs: timestampMs + 1, order: 'desc', limit: 1 } as const
    const [found] = tops(query)
    if (found === undefined) return undefined
    const after = { timestampMs: found.timestampMs, id: found.id - 1 }
    const text = (): Uint8Array => {
      const [only] = [...history.page({ market, order: 'asc', after, limit: 1 }).texts()]
      if (only === undefined) throw new Error('A row that was found is there.')
      return only
    }
    return {
      ...{ timestampMs: found.timestampMs, id: found.id, text },
      snapshot() {
        const bytes = text()
        const { id, ...snapshot } = scanner.scan(bytes, 0, bytes.length)
        return { ...snapshot, id: Number(id) }
      },
      receivedMs: () => undefined,
    } satisfies StoredRow
  }

  return { tops, page, at }
}
