/** Plain tables and numbers for people; programs take `--json`. */
import type { CliContext } from './context.ts'

const GAP = '  '
/** Stands for a value that there is none of. */
const NONE = '-'
/** What could move the cursor, or colour or reverse the line; labels are written by strangers. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Cells; undefined where there is no value. */
type Row = readonly (string | undefined)[]

/** Prints rows under their header, each column as wide as its widest cell. */
export function printTable(
  { print }: Pick<CliContext, 'print'>,
  header: readonly string[],
  rows: readonly Row[],
): void {
  for (const line of renderTable(header, rows)) print(line)
}

/** Renders what `--json` prints. */
export const renderJson = (value: unknown): string => JSON.stringify(value, undefined, 2)

/** Prints a count with separators: 71400 is `71,400`. */
export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** `3 entries`; the plural adds an s unless it is given. */
export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(number)} ${number === 1 ? noun : plural}`

/** Unix milliseconds as ISO 8601; what is no time of any calendar stays a number. */
export function formatTime(timeMs: number | undefined): string | undefined {
  if (timeMs === undefined) return undefined
  const time = new Date(timeMs)
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString()
}

function renderTable(header: readonly string[], rows: readonly Row[]): string[] {
  const lines = [header, ...rows].map((row) => row.map(toCell))
  const widths = header.map((_, column) =>
    lines.reduce((width, line) => Math.max(width, Bun.stringWidth(line[column] ?? '')), 0),
  )
  return lines.map((line) =>
    line
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join(GAP)
      .trimEnd(),
  )
}

const toCell = (value: string | undefined): string => value?.replace(unprintable, '\ufffd') || NONE
