/** Tables and lists as CSV: RFC 4180, but with LF line ends. */

import { formatMillionths } from '#src/domain/decimal.ts'
import { toIso } from '#src/domain/time.ts'
import { NONE } from '#src/platform/parquet/column.ts'
import { toPrintable } from '#src/platform/printable.ts'

import type { Column, Columns, ColumnType, Kind } from './column.ts'
import type { JsonEncoder, JsonRow } from './json-rows.ts'
import { RowGroup } from './row-group.ts'

const encoder = new TextEncoder()

/** `piece`: the number of rows after which `hasRoomFor` is false, a few milliseconds of work. */
export function createCsv<Row>(columns: Columns<Row>, piece: number) {
  const group = new RowGroup(columns, piece)
  /** Values of the previous line, and their texts: many repeat. */
  const above = columns.map(() => Number.NaN)
  const cells = columns.map(() => '')
  /** Number of columns before the first whose value differs between the rows of one `add`. */
  const spreadAt = columns.findIndex(({ fill }) => fill !== undefined)
  const shared = spreadAt < 0 ? columns.length : spreadAt
  /** Cells and separators, joined once per piece: joining each line takes longer. */
  const texts: string[] = []
  let added = 0

  /** Print a non-null value of each type. */
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

  function take(): Uint8Array {
    const bytes = encoder.encode(texts.join(''))
    texts.length = 0
    above.fill(Number.NaN)
    group.remove(group.count)
    added = 0
    return bytes
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

    /** Yields the lines of the rows added so far, if there are any. */
    *flush(): Generator<Uint8Array> {
      if (added > 0) yield take()
    },

    /** Yields the last piece, which may be empty: a reader counts to its end what was read. */
    *end(): Generator<Uint8Array> {
      yield take()
    },
  }
}

const csvLine = (cells: readonly string[]): string => `${cells.join(',')}\n`

/**
 * Matches a cell that a spreadsheet would run as a formula; some spreadsheets ignore white space
 * and characters without width at its start. A number with a unit, such as `-240s`, is no formula,
 * and neither is a digest or signature in base64, which may begin with a plus sign.
 */
const formula =
  /^(?![-+]\d+(\.\d+)?[a-z]{0,2}$)(?!\+[A-Za-z\d+/]{40,}={1,2}$)(?:\n|[\s\u180E\u200B-\u200F\u2060]*[-=+@\uFF0B\uFF0D\uFF1D\uFF20])/
/** Makes a spreadsheet take a cell as text. */
const TEXT_MARK = "'"

const quoted = (text: string): string =>
  /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** Text from others, such as the question of a market; an empty cell is null. */
function textCell(given: string): string {
  const text = given.split('\n').map(toPrintable).join('\n')
  return quoted(formula.test(text) ? TEXT_MARK + text : text)
}

const headerLine = (columns: readonly ColumnType[]): string =>
  csvLine(columns.map(({ name }) => name))

export const csvHeader = (columns: readonly ColumnType[]): Uint8Array =>
  encoder.encode(headerLine(columns))

/** Encodes lists, whose rows are JSON. */
export function createJsonCsv(columns: readonly Column<JsonRow>[]): JsonEncoder {
  const lines = [headerLine(columns)]
  return {
    add(rows) {
      for (const row of rows) {
        const cells = columns.map(({ kind, read }) => {
          const text = String(read(row) ?? '')
          return kind === 'text' ? textCell(text) : quoted(text)
        })
        lines.push(csvLine(cells))
      }
    },
    end: () => encoder.encode(lines.join('')),
  }
}
