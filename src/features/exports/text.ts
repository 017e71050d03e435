/** Exports as text: NDJSON, and CSV (RFC 4180, but with LF), of which no value needs quotes. */
import { columnName } from '#src/domain/column-name.ts'
import { formatMillionths } from '#src/domain/decimal.ts'
import type { Market } from '#src/domain/market.ts'
import { snapshotFields } from '#src/domain/snapshot.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import { createRowCut } from '#src/domain/wire/row-cut.ts'
import type { Encoding, RowRun } from '#src/history/history.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'

import { type Progress, queriesOf, type Shape, type Source, stateColumns } from './rows.ts'

/** Snapshots of a piece: a few milliseconds of work. */
const PIECE_SNAPSHOTS = 100
const PIECE_BYTES = 524_288
const STEP_SNAPSHOTS = { levels: 16, states: 100 }

/** With gzip nothing is compressed: stored bits are joined. */
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
      yield bytes.slice()
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
  const { depth, withReceived } = shape
  const atOnce = STEP_SNAPSHOTS[shape.kind]
  for (const query of queriesOf(source)) {
    for (const run of source.history.runs({ ...query, depth, withReceived })) {
      for (let from = 0; from < run.rows.length; from += atOnce) {
        const step = run.rows.slice(from, from + atOnce)
        progress.snapshots += step.length
        const lines = step.map((_, index) => toLines(run, from + index, { ...query, shape }))
        yield encoder.encode(lines.join(''))
      }
    }
  }
}

function headerOf({ kind, depth, withReceived, withSource }: Shape): string {
  const own = kind === 'levels' ? ['side,level,price,size'] : stateColumns(depth)
  const last = [
    ...(withReceived ? [columnName('receivedAt')] : []),
    ...(withSource ? ['source'] : []),
  ]
  return `${['timestamp', 'id', columnName('conditionId'), 'outcome', ...own, ...last].join(',')}\n`
}

function toLines(run: RowRun, row: number, { market, shape }: { market: Market; shape: Shape }) {
  const { kind, depth, withReceived, withSource } = shape
  const { timestampMs = 0, id, outcome } = run.rows[row] ?? {}
  const first = `${toIso(timestampMs)},${id},${market.conditionId},${outcome}`
  const received = withReceived ? `,${toIsoOrNull(run.besides[row]?.receivedMs) ?? ''}` : ''
  const end = `${received}${withSource ? `,${market.source}` : ''}\n`
  const [bids, asks] = [levelsOf(run, row * 2), levelsOf(run, row * 2 + 1)]
  if (kind === 'states') return `${first}${toCells(bids, depth)}${toCells(asks, depth)}${end}`
  const lines = [...toLevels(`${first},bid`, bids), ...toLevels(`${first},ask`, asks)]
  // An empty book is a state, too; an empty cell is what is not there.
  return (lines.length === 0 ? [`${first},,,,`] : lines).map((line) => line + end).join('')
}

/** Price and size of each level of a side. */
const levelsOf = ({ ends, prices, sizes }: RowRun, side: number): string[] => {
  const start = ends[side - 1] ?? 0
  return Array.from({ length: (ends[side] ?? 0) - start }, (_, level) => {
    const [price = 0, size = 0] = [prices[start + level], sizes[start + level]]
    return `,${formatMillionths(price)},${formatMillionths(size)}`
  })
}

const toLevels = (first: string, levels: readonly string[]): string[] =>
  levels.map((level, index) => `${first},${index + 1}${level}`)

const toCells = (levels: readonly string[], depth: number): string =>
  levels.join('') + ',,'.repeat(depth - levels.length)
