/** Cuts parts out of a snapshot's JSON, which the store writes in one form: nothing is parsed. */
import { snapshotFields } from '#src/domain/snapshot.ts'
import { toIso } from '#src/domain/time.ts'

import { byteOf } from './json-bytes.ts'
import { putText } from './row-bytes.ts'

/** In order of output. `receivedAt` is only on request, `sources` only in consolidated rows. */
export const rowFields = [...snapshotFields, 'receivedAt', 'sources'] as const
export type RowField = (typeof rowFields)[number]

export const DEPTH_MAX = 500

export type RowCut = {
  /** Levels of each side, from the best; undefined for all. */
  depth: number | undefined
  /** Undefined for all; never empty. */
  fields: ReadonlySet<RowField> | undefined
}

/** True if rows are served as they are stored. */
export const isUncut = ({ depth, fields }: RowCut): boolean =>
  depth === undefined && fields === undefined

/** Equal cuts have equal texts. */
export const cutText = ({ depth, fields }: RowCut): string => {
  const wanted = fields === undefined ? [] : rowFields.filter((field) => fields.has(field))
  return `${depth ?? ''}.${wanted.join('+')}`
}

/** True if rows must be read together with the fields stored beside them. */
export const wantsReceived = ({ fields }: RowCut): boolean => fields?.has('receivedAt') ?? false

export const receivedText = (receivedMs: number | undefined): string =>
  receivedMs === undefined ? 'null' : `"${toIso(receivedMs)}"`

/** Returns the requested part of a row's JSON object; valid until the next call. */
export type CutRow = (row: Uint8Array, receivedMs?: number) => Uint8Array

const textFields = snapshotFields.slice(0, snapshotFields.indexOf('bids'))
const sideFields = ['bids', 'asks'] as const
const QUOTES = '"":'.length
/** More than the length of the member `receivedAt` and a comma. */
const RECEIVED_BYTES_MAX = 64

export function createRowCut(cut: RowCut): CutRow {
  if (isUncut(cut)) return (row) => row
  const { depth, fields } = cut
  const toPart = (name: RowField) => ({
    keyLength: name.length + QUOTES,
    isKept: fields === undefined || fields.has(name),
  })
  const texts = textFields.map(toPart)
  const sides = sideFields.map(toPart)
  const isReceived = wantsReceived(cut)
  let out = new Uint8Array(8192)
  let length = 0

  function keep(row: Uint8Array, start: number, end: number): void {
    out.set(row.subarray(start, end), length)
    length += end - start
    out[length++] = byteOf.comma
  }

  function keepSide(row: Uint8Array, start: number, end: number): void {
    const stop = depth === undefined ? end : findLevelEnd(row.subarray(0, end), start, depth)
    keep(row, start, stop)
    if (stop === end) return
    out[length - 1] = byteOf.closeBracket
    out[length++] = byteOf.comma
  }

  return (row, receivedMs) => {
    // A part is never longer than the row, except for `receivedAt`.
    const needed = row.length + RECEIVED_BYTES_MAX
    if (out.length < needed) out = new Uint8Array(needed * 2)
    out[0] = byteOf.openBrace
    length = 1
    let at = 1
    for (const { keyLength, isKept } of texts) {
      const end = row.indexOf(byteOf.quote, at + keyLength + 1) + 1
      if (isKept) keep(row, at, end)
      at = end + 1
    }
    for (const { keyLength, isKept } of sides) {
      const end = row.indexOf(byteOf.closeBracket, at + keyLength) + 1
      if (isKept) keepSide(row, at, end)
      at = end + 1
    }
    if (isReceived) length = putText(out, length, `"receivedAt":${receivedText(receivedMs)},`)
    out[length - 1] = byteOf.closeBrace
    return out.subarray(0, length)
  }
}

/** The offset after `depth` levels, or after the side, where `row` ends, if it has fewer. */
function findLevelEnd(row: Uint8Array, at: number, depth: number): number {
  let next = at
  for (let level = 0; level < depth; level++) {
    next = row.indexOf(byteOf.closeBrace, next) + 1
    if (next === 0) return row.length
  }
  // The last level is followed by the bracket that ends the side.
  return next === row.length - 1 ? row.length : next
}
