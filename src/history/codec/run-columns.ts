/** Columns of a growing run of rows, with the sums that its chunk needs. */
import { crcJoin } from '#src/platform/crc32.ts'

/** A row among others; text length and CRC include the comma before it. */
export type ColumnRow = {
  timeMs: number
  id: number
  outcome: number
  textLength: number
  textCrc: number
  /** End of its frame in the row stream. */
  bitEnd: number
}

export class RunColumns {
  readonly rows: ColumnRow[] = []
  readonly textEnds: number[] = []
  readonly crcs: number[] = []
  readonly ownCrcs: number[] = []
  readonly #lastOwnCrcs = [0, 0]

  get count(): number {
    return this.rows.length
  }

  get textEnd(): number {
    return this.textEnds.at(-1) ?? 0
  }

  add(row: ColumnRow): void {
    const { outcome, textLength, textCrc } = row
    const ownCrc = crcJoin(this.#lastOwnCrcs[outcome] ?? 0, textCrc, textLength)
    this.#lastOwnCrcs[outcome] = ownCrc
    this.rows.push(row)
    this.textEnds.push(this.textEnd + textLength)
    this.crcs.push(crcJoin(this.crcs.at(-1) ?? 0, textCrc, textLength))
    this.ownCrcs.push(ownCrc)
  }

  /** Bits before the row's frame. */
  bitStart(row: number): number {
    return this.rows[row - 1]?.bitEnd ?? 0
  }

  reset(): void {
    for (const column of [this.rows, this.textEnds, this.crcs, this.ownCrcs]) column.length = 0
    this.#lastOwnCrcs.fill(0)
  }
}
