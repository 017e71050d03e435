/**
 * Pages of snapshots. Everything that decides the bytes of a page is in its tag, the revision of the
 * market included: it is the page's `ETag`, and what finished pages are kept under.
 */
import { createHash } from 'node:crypto'

import type { CursorCodec } from '#src/core/cursor.ts'
import { AppError } from '#src/core/errors.ts'
import type { Market } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { RecentSet } from '#src/lib/recent-set.ts'
import type { Encoding, HistoryStore, RowQuery } from '#src/store/history.ts'

import type { PageQuery } from './model.ts'

type Deps = { history: HistoryStore; cursors: CursorCodec; cacheBytesMax: number }

/** `tag` is what the page's tag is at the market's revision of the moment, `key` all of it but that. */
export type PageRequest = {
  tag: string
  key: string
  scope: string
  rows: RowQuery
  encoding: Encoding
}
/** `tag` is unique to the body, and fit for an `ETag`. */
export type PageBody = { tag: string; body: Uint8Array<ArrayBuffer>; resumeCursor: string }

/** Below it a time is in seconds: as milliseconds it would lie before 1973-03-03. */
const MILLISECONDS_FROM = 100_000_000_000
/** Keys remembered of pages that were made once: only the second time is one worth keeping. */
const ASKED_ONCE_MAX = 16_384
/** No page may take more than its share of as many: pages that are not compressed would turn out all others. */
const PAGES_LEAST = 256
/** What a kept page weighs besides its body. */
const ENTRY_BYTES = 512
const TIME_BYTES = 6
const ID_BYTES = 6
const TIME_MAX = 2 ** 48 - 1

/** Makes the service of a history; `cacheBytesMax` bounds the finished pages kept in memory. */
export function createSnapshotService({ history, cursors, cacheBytesMax }: Deps) {
  const pages = createCache<string, PageBody>(cacheBytesMax)
  const bodyBytesMax = cacheBytesMax / PAGES_LEAST
  const askedOnce = new RecentSet(ASKED_ONCE_MAX)
  // Tells histories apart whose markets happen to have the same ids and revisions.
  const historyTag = createHash('sha256').update(history.cursorKey).digest('base64url').slice(0, 8)

  function make({ key, scope, rows, encoding }: PageRequest): PageBody {
    const page = history.page(rows)
    const resumeCursor = cursors.encode(scope, toPayload(page.last ?? rows.after ?? startOf(rows)))
    const nextCursor = page.hasMore ? `"${resumeCursor}"` : 'null'
    const body = page.encode(encoding, '{"data":[', `],"nextCursor":${nextCursor}}`)
    // Another process may have written since the market was found.
    return { tag: `${key}.${page.revision}`, body, resumeCursor }
  }

  return {
    /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
    toRequest(market: Market, query: PageQuery, encoding: Encoding): PageRequest {
      const fromMs = toMilliseconds(query.from)
      const toMs = toMilliseconds(query.to)
      if (fromMs !== undefined && toMs !== undefined && toMs <= fromMs) {
        throw new AppError(
          'invalid_parameter',
          `\`to\` is ${query.to}, which is not after \`from\`, ${query.from}. \`from\` is inclusive, \`to\` exclusive.`,
          { param: 'to' },
        )
      }
      const { outcome, order, limit, cursor } = query
      const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}`
      const scope = `snapshots ${market.conditionId} ${filters}`
      const after = cursor === undefined ? undefined : toPosition(cursors.decode(scope, cursor))
      const place = after === undefined ? '' : `${after.timestampMs}.${after.id}`
      const key = `${historyTag}.${market.id}.${filters}.${place}.${limit}.${encoding}`
      return {
        tag: `${key}.${market.revision}`,
        key,
        scope,
        rows: { market, outcome, fromMs, toMs, order, after, limit },
        encoding,
      }
    },

    /** The body is valid until the next call. */
    page(request: PageRequest): PageBody {
      const kept = pages.get(request.tag)
      if (kept !== undefined) return kept
      const made = make(request)
      if (made.body.length > bodyBytesMax) return made
      if (!askedOnce.has(made.tag)) {
        askedOnce.add(made.tag)
        return made
      }
      const copy = { ...made, body: made.body.slice() }
      pages.set(copy.tag, copy, { size: copy.body.length + ENTRY_BYTES })
      return copy
    },
  }
}

export type SnapshotService = ReturnType<typeof createSnapshotService>

const toMilliseconds = (time: number | undefined): number | undefined =>
  time === undefined || time >= MILLISECONDS_FROM ? time : time * 1000

/** The position in front of every row of the query. */
const startOf = ({ order, fromMs, toMs }: RowQuery): Position => ({
  timestampMs: Math.min(
    (order === 'asc' ? fromMs : toMs) ?? (order === 'asc' ? 0 : TIME_MAX),
    TIME_MAX,
  ),
  id: 0,
})

function toPayload({ timestampMs, id }: Position): Uint8Array {
  const payload = Buffer.alloc(TIME_BYTES + ID_BYTES)
  payload.writeUIntBE(timestampMs, 0, TIME_BYTES)
  payload.writeUIntBE(id, TIME_BYTES, ID_BYTES)
  return payload
}

function toPosition(payload: Uint8Array): Position {
  const bytes = Buffer.from(payload)
  return {
    timestampMs: bytes.readUIntBE(0, TIME_BYTES),
    id: bytes.readUIntBE(TIME_BYTES, ID_BYTES),
  }
}
