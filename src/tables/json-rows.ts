/** Rows of a table from the JSON of a list, so that both contain the same values. */

import { type Column, columnName, type Kind } from './column.ts'

/** A row of a list. Numbers are kept as the text in the JSON, because floats would lose digits. */
export type JsonRow = Record<string, unknown>

/** Encodes a file from groups of rows. */
export type JsonEncoder = {
  add(rows: readonly JsonRow[]): void
  end(): Uint8Array<ArrayBuffer>
}

/** The column of a member. For an array, a name in the path is the outcome of the entry. */
export const memberColumn = (path: readonly string[], kind: Kind): Column<JsonRow> => ({
  name: columnName(...path.filter((name) => name !== 'outcomes')),
  kind,
  read(row) {
    let value: unknown = row
    for (const name of path) value = memberOf(value, name)
    return typeof value === 'object' && value !== null
      ? JSON.stringify(value)
      : (value as string | boolean | null | undefined)
  },
})

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.find(({ outcome }) => outcome === name)
  return value === null || value === undefined ? value : (value as JsonRow)[name]
}

// TypeScript's library types lack the third argument of a reviver.
type Revive = (key: string, value: unknown, context: { source?: string }) => unknown
const exactly: Revive = (_, value, { source }) => (typeof value === 'number' ? source : value)

export const parseRow = (text: string): JsonRow =>
  JSON.parse(text, exactly as (key: string, value: unknown) => unknown) as JsonRow

const HEAD = '{"data":['
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d

/** Yields the text of each object in `data`; returns the rest of the list without them. */
export function* splitList(json: string): Generator<string, string> {
  let at = HEAD.length
  while (json.charCodeAt(at) === OPEN) {
    const end = endOf(json, at)
    yield json.slice(at, end)
    at = json[end] === ',' ? end + 1 : end
  }
  return HEAD + json.slice(at)
}

/** The end of the object that begins at `start`. */
function endOf(json: string, start: number): number {
  let depth = 0
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === OPEN) depth++
    else if (code === CLOSE && --depth === 0) return at + 1
    else if (code === QUOTE) {
      for (at++; json.charCodeAt(at) !== QUOTE; at++) if (json.charCodeAt(at) === BACKSLASH) at++
    }
  }
  return json.length
}
