/** Parquet, one row group after the other: prices and sizes are DECIMAL, so nothing is a float. */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'

import type { Ladder, StoredSnapshot } from '#src/core/snapshot.ts'

import { createParquetFooter } from './parquet-footer.ts'
import { type Progress, queriesOf, type Shape, type Source, stateColumns } from './plan.ts'

/** Values of a group: what one export holds in memory. */
const GROUP_VALUES = 30_000
const STEP_VALUES = 4_000

/** Values of a column; integers are BigInt where they are written as 64 bits. */
type Values = (bigint | string | number | Date | null)[]

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const decimal = { type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 6 } as const
const time = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
} as const

const required = { repetition_type: 'REQUIRED' } as const
const optional = { repetition_type: 'OPTIONAL' } as const

const firstColumns: readonly SchemaElement[] = [
  { name: 'timestamp', ...time, ...required },
  { name: 'id', type: 'INT64', ...required },
  { name: 'conditionId', ...text, ...required },
  { name: 'outcome', ...text, ...required },
]

const levelColumns: readonly SchemaElement[] = [
  { name: 'side', ...text, ...optional },
  { name: 'level', type: 'INT32', ...optional },
  { name: 'price', ...decimal, ...optional },
  { name: 'size', ...decimal, ...optional },
]

export function* parquetPieces(
  source: Source,
  progress: Progress,
  shape: Shape,
): Generator<Uint8Array> {
  const columns = columnsOf(shape)
  const rowsMax = Math.ceil(GROUP_VALUES / columns.length)
  const bytes = new PieceWriter()
  const file = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'bookfeed', num_children: columns.length }, ...columns],
    createdBy: 'bookfeed',
    // Of every column and group, until the end: with many columns they outweigh the rows.
    statistics: shape.kind === 'levels',
  })
  const footer = createParquetFooter(file)
  const group = columns.map((): Values => [])
  /** Writes some columns a step, or a group would hold the process for ten times as long. */
  function* writeGroup(): Generator<Uint8Array> {
    const rows = group[0]?.length ?? 0
    if (rows === 0) return
    const columnsAtOnce = Math.ceil(STEP_VALUES / rows)
    for (let first = 0; first < columns.length; first += columnsAtOnce) {
      const columnData = columns.slice(first, first + columnsAtOnce).map(({ name }, index) => ({
        name,
        data: group[first + index] ?? [],
        // Kept until the end of the file otherwise, a page of every column.
        offsetIndex: false,
      }))
      // Only a writer to a file makes it a promise.
      void file.write({ columnData, rowGroupSize: rows })
      yield NOTHING
    }
    footer.take()
    for (const values of group) values.length = 0
    yield bytes.take()
  }
  for (const query of queriesOf(source)) {
    for (const run of source.history.runs(query)) {
      for (const snapshot of run) {
        addRows(group, snapshot, shape)
        if ((group[0]?.length ?? 0) >= rowsMax) yield* writeGroup()
      }
      progress.snapshots += run.length
      // Also without a full group: the end of a step, at which others have their turn.
      yield NOTHING
    }
  }
  yield* writeGroup()
  for (const end = footer.write(bytes); end.next().done !== true;) yield bytes.take()
  yield bytes.take()
}

const NOTHING = new Uint8Array(0)

function columnsOf({ kind, depth, withReceived }: Shape): readonly SchemaElement[] {
  const states = () => stateColumns(depth).map((name) => ({ name, ...decimal, ...optional }))
  const received = { name: 'received_at', ...time, ...optional }
  const own = kind === 'levels' ? levelColumns : states()
  return [...firstColumns, ...own, ...(withReceived ? [received] : [])]
}

function addRows(group: Values[], snapshot: StoredSnapshot, shape: Shape): void {
  const { kind, depth, withReceived } = shape
  const { timestampMs, id, conditionId, outcome, bids, asks, receivedMs } = snapshot
  const first = [BigInt(timestampMs), BigInt(id), conditionId, outcome]
  const received = receivedMs === undefined ? null : BigInt(receivedMs)
  const last = withReceived ? [received] : []
  const add = (cells: Values) => {
    for (const [index, cell] of [...first, ...cells, ...last].entries()) group[index]?.push(cell)
  }
  if (kind === 'states') {
    add([...toCells(bids, depth), ...toCells(asks, depth)])
    return
  }
  const rows = [...toLevels('bid', bids, depth), ...toLevels('ask', asks, depth)]
  // An empty book is a state, too.
  if (rows.length === 0) add([null, null, null, null])
  for (const row of rows) add(row)
}

const toLevels = (side: string, { prices, sizes }: Ladder, depth: number): Values[] =>
  prices
    .slice(0, depth)
    .map((price, index) => [side, index + 1, BigInt(price), BigInt(sizes[index] ?? 0)])

const toCells = ({ prices, sizes }: Ladder, depth: number): Values =>
  Array.from({ length: depth }, (_, level) => {
    const price = prices[level]
    return price === undefined ? [null, null] : [BigInt(price), BigInt(sizes[level] ?? 0)]
  }).flat()

/** Hands out what was written since the last time; `offset` counts on. */
class PieceWriter extends ByteWriter {
  take(): Uint8Array {
    const piece = new Uint8Array(this.buffer.slice(0, this.index))
    this.index = 0
    return piece
  }
}
