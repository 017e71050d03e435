/** Provokes a documented failure of an operation. */
import type { ErrorCode } from '#src/domain/errors.ts'

import { codesOf, type Entry } from './openapi-document.ts'
import { waysToFail } from './ways-to-fail.ts'

/** Codes that mean that there is no operation, or none for customers. */
export const ofNoOperation: readonly ErrorCode[] = [
  'not_found',
  'method_not_allowed',
  'operator_only',
]

/** An operation that documents a code. */
export function ownerOf(entries: readonly Entry[], code: ErrorCode): Entry {
  const isOwner = (entry: Entry) => codesOf(entry).some(([, known]) => known === code)
  const owner = ofNoOperation.includes(code) ? entries[0] : entries.find(isOwner)
  if (owner === undefined) throw new Error(`No operation documents ${code}.`)
  return owner
}

export function provoke(code: ErrorCode, entry: Entry): Promise<Response> {
  const way = waysToFail[code]
  if (way === undefined) throw new Error(`No way to ${code} is known: add one to ways-to-fail.ts.`)
  return way(entry)
}
