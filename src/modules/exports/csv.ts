/** CSV (RFC 4180, but with LF): no value needs quotes. An empty cell is what is not there. */
import { formatMillionths } from '#src/core/decimal.ts'
import type { Ladder, StoredSnapshot } from '#src/core/snapshot.ts'
import { toIso } from '#src/core/time.ts'

import { type Progress, queriesOf, type Shape, type Source, stateColumns } from './source.ts'

/** Snapshots printed in one step. */
const STEP_SNAPSHOTS = 16

/**
 * Lines of a header and of all snapshots; the header is left out of what
 * is appended to an earlier file.
 */
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
        yield encoder.encode(step.map((snapshot) => toLines(snapshot, shape)).join(''))
      }
    }
  }
}

function headerOf({ kind, depth, withReceived }: Shape): string {
  const own = kind === 'levels' ? ['side,level,price,size'] : stateColumns(depth)
  const last = withReceived ? ['received_at'] : []
  return `${['timestamp,id,conditionId,outcome', ...own, ...last].join(',')}\n`
}

function toLines(snapshot: StoredSnapshot, { kind, depth, withReceived }: Shape): string {
  const { timestampMs, id, conditionId, outcome, bids, asks } = snapshot
  const first = `${toIso(timestampMs)},${id},${conditionId},${outcome}`
  const end = withReceived ? `,${toCell(snapshot.receivedMs)}\n` : '\n'
  if (kind === 'states') return `${first}${toCells(bids, depth)}${toCells(asks, depth)}${end}`
  const toSide = (side: string, ladder: Ladder) =>
    toLevels(`${first},${side}`, ladder, { depth, end })
  const lines = toSide('bid', bids) + toSide('ask', asks)
  // An empty book is a state, too.
  return lines === '' ? `${first},,,,${end}` : lines
}

const toCell = (timeMs: number | undefined): string => (timeMs === undefined ? '' : toIso(timeMs))

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
