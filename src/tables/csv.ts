/** Tables as lines of CSV. */

import { formatMillionths } from '#src/domain/decimal.ts'
import { toIso } from '#src/domain/time.ts'
import { NONE } from '#src/platform/parquet/column.ts'

import type { Columns, Kind } from './column.ts'
import { csvCell, csvLine } from './csv-text.ts'
import { RowGroup } from './row-group.ts'

const encoder = new TextEncoder()

/** `piece`: how often rows are added before `hasRoomFor` is false, a few milliseconds of work. */
export function createCsv<Row>(columns: Columns<Row>, piece: number) {
  const group = new RowGroup(columns, piece)
  let added = 0

  function print(kind: Kind, value: number): string {
    if (value === NONE) return ''
    if (kind === 'millionths') return formatMillionths(value)
    if (kind === 'time') return toIso(value)
    if (kind === 'boolean') return String(value === 1)
    return kind === 'text' || kind === 'digits' ? csvCell(group.texts[value] ?? '') : String(value)
  }

  return {
    hasRoomFor: (): boolean => added < piece,

    add(row: Row, rows?: number): void {
      group.add(row, rows)
      added++
    },

    /** Yields the lines of what was added. */
    *flush(): Generator<Uint8Array> {
      // A cell often repeats the one above.
      const above = columns.map(() => Number.NaN)
      const cells = columns.map(() => '')
      let text = ''
      for (let row = 0; row < group.count; row++) {
        for (let index = 0; index < columns.length; index++) {
          const value = group.values[index]?.[row] ?? NONE
          if (value === above[index]) continue
          above[index] = value
          cells[index] = print(columns[index]?.kind ?? 'text', value)
        }
        text += csvLine(cells)
      }
      group.remove(group.count)
      added = 0
      yield encoder.encode(text)
    },

    *end(): Generator<Uint8Array> {
      yield* this.flush()
    },
  }
}
