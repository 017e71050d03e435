/** Cells and lines of CSV: RFC 4180, but lines end with LF. */

import type { ColumnType } from './column.ts'

export const csvLine = (cells: readonly string[]): string => `${cells.join(',')}\n`

/** An empty cell is what is not there. */
export const csvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

export const csvHeader = (columns: readonly ColumnType[]): string =>
  csvLine(columns.map(({ name }) => name))
