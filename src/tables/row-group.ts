/** Rows of a table as columns of numbers, buffered until they are encoded. */

import { NONE } from '#src/platform/parquet/column.ts'

import type { Columns, Value } from './column.ts'

export class RowGroup<Row> {
  /** By column. A text is stored as its index in `texts`. */
  readonly values: Float64Array[]
  readonly texts: string[] = []
  count = 0
  readonly #columns: Columns<Row>
  readonly #codes = new Map<string, number>()

  /** `capacity`: initial number of rows. */
  constructor(columns: Columns<Row>, capacity: number) {
    this.#columns = columns
    this.values = columns.map(() => new Float64Array(capacity))
  }

  /** Reads a row, which gives one table row or several. */
  add(row: Row, rows = 1): void {
    const start = this.count
    const end = start + rows
    this.#makeRoom(end)
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index]
      const values = this.values[index]
      if (column === undefined || values === undefined) continue
      if (column.fill !== undefined) {
        values.fill(NONE, start, end)
        column.fill(row, values, start, this.#codeOf)
        continue
      }
      const value = column.read(row)
      const code = typeof value === 'number' ? value : this.#toNumber(value)
      if (rows === 1) values[start] = code
      else values.fill(code, start, end)
    }
    this.count = end
  }

  /** Removes the first rows. */
  remove(rows: number): void {
    for (const values of this.values) values.copyWithin(0, rows, this.count)
    this.count -= rows
    if (this.count > 0) return
    this.texts.length = 0
    this.#codes.clear()
  }

  #makeRoom(rows: number): void {
    const capacity = this.values[0]?.length ?? 0
    if (rows <= capacity) return
    for (const [index, values] of this.values.entries()) {
      const grown = new Float64Array(Math.max(rows, 2 * capacity))
      grown.set(values)
      this.values[index] = grown
    }
  }

  #toNumber(value: Exclude<Value, number>): number {
    if (typeof value === 'string') return this.#codeOf(value)
    return typeof value === 'boolean' ? Number(value) : NONE
  }

  readonly #codeOf = (text: string): number => {
    let code = this.#codes.get(text)
    if (code === undefined) {
      code = this.texts.push(text) - 1
      this.#codes.set(text, code)
    }
    return code
  }
}
