/** Exports as text: NDJSON, and CSV (RFC 4180, but with LF), of which no value needs quotes. */
import { formatMillionths } from '#src/core/decimal.ts'
import { type Ladder, snapshotFields, type StoredSnapshot } from '#src/core/snapshot.ts'
import { toIso, toIsoOrNull } from '#src/core/time.ts'
import type { Encoding } from '#src/history/history.ts'
import { ByteWriter } from '#src/lib/byte-writer.ts'
import { release } from '#src/lib/release.ts'
import { createRowCut } from '#src/wire/row-cut.ts'

import { type Progress, queriesOf, type Shape, type Source, stateColumns } from './plan.ts'

/** Snapshots of a piece: a few milliseconds of work. */
const PIECE_SNAPSHOTS = 100
const PIECE_BYTES = 524_288
const STEP_SNAPSHOTS = 16

/** With gzip nothing is compressed: stored bits are joined. A piece is gone at the next. */
export function* ndjsonPieces(
  source: Source,
  progress: Progress,
  encoding: Encoding,
): Generator<Uint8Array> {
  const lines = source.history.lines(encoding)
  for (const query of queriesOf(source)) {
    for (const { bytes, rows } of lines.rows(query)) {
      progress.snapshots += rows
      // The store writes the next piece over this one.
      const piece = bytes.slice()
      yield piece
      release(piece)
    }
  }
  const end = lines.end()
  if (end.length > 0) yield end.slice()
}

/** Rows with members after those that are stored. */
export function* memberPieces(
  source: Source,
  progress: Progress,
  { withReceived, withSource }: Shape,
): Generator<Uint8Array> {
  const fields = withReceived ? new Set([...snapshotFields, 'receivedAt'] as const) : undefined
  const cutRow = createRowCut({ depth: undefined, fields })
  for (const query of queriesOf(source)) {
    const end = withSource ? `,"source":"${query.market.source}"}\n` : '}\n'
    const rows = { ...query, order: 'asc', limit: PIECE_SNAPSHOTS, withReceived: true } as const
    let { after } = query
    for (let hasMore = true; hasMore;) {
      const page = source.history.page({ ...rows, after })
      const piece = new ByteWriter(PIECE_BYTES)
      let row = 0
      for (const text of page.texts()) {
        piece.bytes(cutRow(text, page.received[row++]).subarray(0, -1))
        piece.text(end)
      }
      after = page.last
      hasMore = page.hasMore
      progress.snapshots += page.count
      yield piece.view()
    }
  }
}

/** A header, which what is appended to an earlier file lacks, and lines of all snapshots. */
export function* csvPieces(
  source: Source,
  progress: Progress,
  shape: Shape,
): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  if (source.after === undefined) yield encoder.encode(headerOf(shape))
  for (const query of queriesOf(source)) {
    for (const run of source.history.runs(query)) {
      for (let from = 0; from < run.length; from += STEP_SNAPSHOTS) {
        const step = run.slice(from, from + STEP_SNAPSHOTS)
        progress.snapshots += step.length
        const lines = step.map((snapshot) => toLines(snapshot, shape, query.market.source))
        yield encoder.encode(lines.join(''))
      }
    }
  }
}

function headerOf({ kind, depth, withReceived, withSource }: Shape): string {
  const own = kind === 'levels' ? ['side,level,price,size'] : stateColumns(depth)
  const last = [...(withReceived ? ['received_at'] : []), ...(withSource ? ['source'] : [])]
  return `${['timestamp,id,conditionId,outcome', ...own, ...last].join(',')}\n`
}

function toLines(snapshot: StoredSnapshot, shape: Shape, source: string): string {
  const { kind, depth, withReceived, withSource } = shape
  const { timestampMs, id, conditionId, outcome, bids, asks } = snapshot
  const first = `${toIso(timestampMs)},${id},${conditionId},${outcome}`
  const received = withReceived ? `,${toIsoOrNull(snapshot.receivedMs) ?? ''}` : ''
  const end = `${received}${withSource ? `,${source}` : ''}\n`
  if (kind === 'states') return `${first}${toCells(bids, depth)}${toCells(asks, depth)}${end}`
  const cut = { depth, end }
  const lines = toLevels(`${first},bid`, bids, cut) + toLevels(`${first},ask`, asks, cut)
  // An empty book is a state, too; an empty cell is what is not there.
  return lines === '' ? `${first},,,,${end}` : lines
}

function toLevels(
  first: string,
  { prices, sizes }: Ladder,
  { depth, end }: { depth: number; end: string },
): string {
  let lines = ''
  for (let level = 0; level < Math.min(prices.length, depth); level++) {
    lines += `${first},${level + 1},${formatMillionths(prices[level] ?? 0)},${formatMillionths(sizes[level] ?? 0)}${end}`
  }
  return lines
}

function toCells({ prices, sizes }: Ladder, depth: number): string {
  let cells = ''
  for (let level = 0; level < depth; level++) {
    const price = prices[level]
    cells +=
      price === undefined
        ? ',,'
        : `,${formatMillionths(price)},${formatMillionths(sizes[level] ?? 0)}`
  }
  return cells
}
