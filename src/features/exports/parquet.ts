/** Parquet, one row group after the other: prices and sizes are DECIMAL, so nothing is a float. */
import type { SchemaElement } from 'hyparquet-writer'

import { columnName } from '#src/domain/column-name.ts'
import type { Market } from '#src/domain/market.ts'
import type { RowRun } from '#src/history/history.ts'
import { NONE } from '#src/platform/parquet/column.ts'
import { createParquetFile, NOTHING } from '#src/platform/parquet/file.ts'

import { type Progress, queriesOf, type Shape, type Source, stateColumns } from './rows.ts'

/** Values of a group, eight bytes each: what one export holds in memory. */
const GROUP_VALUES = 200_000

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
  { name: columnName('conditionId'), ...text, ...required },
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
  const elements = columnsOf(shape)
  const rowsMax = Math.ceil(GROUP_VALUES / elements.length)
  const file = createParquetFile(elements, rowsMax)
  const group = new Group(elements.length, rowsMax, shape)
  // Of every column and group, until the end: with many columns they outweigh the rows.
  const hasStatistics = shape.kind === 'levels'
  /** Writes some columns a step. */
  function* writeGroup(): Generator<Uint8Array> {
    const { count, texts } = group
    if (count === 0) return
    const columns = elements.map((element, index) => ({
      ...{ element, texts, hasStatistics },
      values: group.columns[index]?.subarray(0, count) ?? new Float64Array(0),
    }))
    yield* file.group(columns)
    group.clear()
  }
  const { depth, withReceived } = shape
  for (const query of queriesOf(source)) {
    for (const run of source.history.runs({ ...query, depth, withReceived })) {
      for (const row of run.rows.keys()) {
        if (!group.hasRoomFor(run, row)) yield* writeGroup()
        group.add(run, row, query.market)
      }
      progress.snapshots += run.rows.length
      // Also without a full group: the end of a step, at which others have their turn.
      yield NOTHING
    }
  }
  yield* writeGroup()
  yield* file.end()
}

function columnsOf({ kind, depth, withReceived, withSource }: Shape): readonly SchemaElement[] {
  const states = () => stateColumns(depth).map((name) => ({ name, ...decimal, ...optional }))
  const received = { name: columnName('receivedAt'), ...time, ...optional }
  const source = { name: 'source', ...text, ...required }
  const own = kind === 'levels' ? levelColumns : states()
  const last = [...(withReceived ? [received] : []), ...(withSource ? [source] : [])]
  return [...firstColumns, ...own, ...last]
}

/** Rows of a file by columns, and the texts that it holds. */
class Group {
  readonly columns: Float64Array[]
  readonly texts: string[] = []
  count = 0
  readonly #codes = new Map<string, number>()
  readonly #shape: Shape
  readonly #rowsMax: number

  constructor(columns: number, rowsMax: number, shape: Shape) {
    this.columns = Array.from({ length: columns }, () => new Float64Array(rowsMax))
    this.#shape = shape
    this.#rowsMax = rowsMax
  }

  clear(): void {
    this.count = 0
    this.texts.length = 0
    this.#codes.clear()
  }

  hasRoomFor({ ends }: RowRun, row: number): boolean {
    const levels = (ends[row * 2 + 1] ?? 0) - (ends[row * 2 - 1] ?? 0)
    const rows = this.#shape.kind === 'states' ? 1 : Math.max(1, levels)
    return this.count + rows <= this.#rowsMax
  }

  /** Adds a snapshot, for which there is room. */
  add(run: RowRun, row: number, { conditionId, source }: Pick<Market, 'conditionId' | 'source'>) {
    const { timestampMs, id, outcome } = run.rows[row] ?? { timestampMs: 0, id: 0, outcome: '' }
    const first = [timestampMs, id, this.#codeOf(conditionId), this.#codeOf(outcome)]
    const received = run.besides[row]?.receivedMs ?? NONE
    const last = [
      ...(this.#shape.withReceived ? [received] : []),
      ...(this.#shape.withSource ? [this.#codeOf(source)] : []),
    ]
    const start = this.count
    if (this.#shape.kind === 'states') this.#addState(run, row)
    else this.#addLevels(run, row)
    this.#fill(0, start, first)
    this.#fill(this.columns.length - last.length, start, last)
  }

  /** What all rows of a snapshot have in common. */
  #fill(column: number, start: number, values: readonly number[]): void {
    for (const [at, value] of values.entries()) {
      this.columns[column + at]?.fill(value, start, this.count)
    }
  }

  #addState({ ends, prices, sizes }: RowRun, row: number): void {
    const { depth } = this.#shape
    const at = this.count++
    let column = firstColumns.length
    for (const side of [row * 2, row * 2 + 1]) {
      const [start, end] = [ends[side - 1] ?? 0, ends[side] ?? 0]
      for (let level = start; level < start + depth; level++) {
        const isThere = level < end
        this.#set(column++, at, isThere ? prices[level] : NONE)
        this.#set(column++, at, isThere ? sizes[level] : NONE)
      }
    }
  }

  #addLevels(run: RowRun, row: number): void {
    const start = this.count
    this.#addSide(run, row * 2, this.#codeOf('bid'))
    this.#addSide(run, row * 2 + 1, this.#codeOf('ask'))
    if (this.count > start) return
    // An empty book is a state, too.
    this.count++
    this.#fill(firstColumns.length, start, [NONE, NONE, NONE, NONE])
  }

  #addSide({ ends, prices, sizes }: RowRun, side: number, code: number): void {
    const [start, end] = [ends[side - 1] ?? 0, ends[side] ?? 0]
    for (let level = start; level < end; level++) {
      const at = this.count++
      this.#set(firstColumns.length, at, code)
      this.#set(firstColumns.length + 1, at, level - start + 1)
      this.#set(firstColumns.length + 2, at, prices[level])
      this.#set(firstColumns.length + 3, at, sizes[level])
    }
  }

  #set(column: number, at: number, value = NONE): void {
    const values = this.columns[column]
    if (values !== undefined) values[at] = value
  }

  #codeOf(text: string): number {
    const known = this.#codes.get(text)
    if (known !== undefined) return known
    this.#codes.set(text, this.texts.length)
    return this.texts.push(text) - 1
  }
}
