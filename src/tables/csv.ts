/** Tables and lists as CSV: RFC 4180, but lines end with LF. */

import { formatMillionths } from '#src/domain/decimal.ts'
import { toIso } from '#src/domain/time.ts'
import { NONE } from '#src/platform/parquet/column.ts'
import { toPrintable } from '#src/platform/printable.ts'

import type { Column, Columns, ColumnType, Kind } from './column.ts'
import type { JsonEncoder, JsonRow } from './json-rows.ts'
import { RowGroup } from './row-group.ts'

const encoder = new TextEncoder()

/** `piece`: how often rows are added before `hasRoomFor` is false, a few milliseconds of work. */
export function createCsv<Row>(columns: Columns<Row>, piece: number) {
  const group = new RowGroup(columns, piece)
  /** Values of the line before, and their texts: many repeat. */
  const above = columns.map(() => Number.NaN)
  const cells = columns.map(() => '')
  /** Columns before the first that differs between the rows of one `add`. */
  const spreadAt = columns.findIndex(({ fill }) => fill !== undefined)
  const shared = spreadAt < 0 ? columns.length : spreadAt
  /** Cells and what is between them, joined once a piece: to join each line takes longer. */
  const texts: string[] = []
  let added = 0

  /** How values are printed that are not null. */
  const printers: Record<Kind, (value: number) => string> = {
    time: toIso,
    int64: String,
    int32: String,
    boolean: (value) => String(value === 1),
    text: (code) => textCell(group.texts[code] ?? ''),
    millionths: formatMillionths,
    digits: (code) => group.texts[code] ?? '',
  }
  const prints = columns.map(({ kind }) => printers[kind])

  function cellAt(index: number, row: number): string {
    const value = group.values[index]?.[row] ?? NONE
    if (value !== above[index]) {
      above[index] = value
      cells[index] = value === NONE ? '' : (prints[index]?.(value) ?? '')
    }
    return cells[index] ?? ''
  }

  return {
    hasRoomFor: (): boolean => added < piece,

    add(row: Row, rows?: number): void {
      const first = group.count
      group.add(row, rows)
      added++
      for (let index = 0; index < shared; index++) cellAt(index, first)
      const start = cells.slice(0, shared).join(',')
      for (let at = first; at < group.count; at++) {
        texts.push(start)
        for (let index = shared; index < columns.length; index++) {
          texts.push(',', cellAt(index, at))
        }
        texts.push('\n')
      }
    },

    /** Yields the lines of what was added. */
    *flush(): Generator<Uint8Array> {
      const bytes = encoder.encode(texts.join(''))
      texts.length = 0
      above.fill(Number.NaN)
      group.remove(group.count)
      added = 0
      yield bytes
    },

    *end(): Generator<Uint8Array> {
      yield* this.flush()
    },
  }
}

const csvLine = (cells: readonly string[]): string => `${cells.join(',')}\n`

/**
 * A spreadsheet runs such a cell as a formula, and some of them do after space, which `\s` and
 * characters without a width are. A number with a unit, such as `-240s`, is none, and neither is a
 * digest or signature in base64, which begins with a plus sign now and then.
 */
const formula =
  /^(?![-+]\d+(\.\d+)?[a-z]{0,2}$)(?!\+[A-Za-z\d+/]{40,}={1,2}$)(?:\n|[\s\u180E\u200B-\u200F\u2060]*[-=+@\uFF0B\uFF0D\uFF1D\uFF20])/
/** Makes a spreadsheet take a cell as text. */
const TEXT_MARK = "'"

const quoted = (text: string): string =>
  /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Text that others wrote, such as the question of a market; an empty cell is null. */
function textCell(given: string): string {
  const text = given.split('\n').map(toPrintable).join('\n')
  return quoted(formula.test(text) ? TEXT_MARK + text : text)
}

export const csvHeader = (columns: readonly ColumnType[]): string =>
  csvLine(columns.map(({ name }) => name))

/** Rows of a list that are printed in one step. */
const STEP_ROWS = 100

/** Lists, whose rows are JSON. */
export function createJsonCsv(columns: readonly Column<JsonRow>[]): JsonEncoder {
  const lines = [csvHeader(columns)]
  return {
    *add(rows) {
      for (const [at, row] of rows.entries()) {
        const cells = columns.map(({ kind, read }) => {
          const text = String(read(row) ?? '')
          return kind === 'text' ? textCell(text) : quoted(text)
        })
        lines.push(csvLine(cells))
        if (at % STEP_ROWS === STEP_ROWS - 1) yield
      }
    },
    end: () => new TextEncoder().encode(lines.join('')),
  }
}
