/** A single byte range of a resource of known length (RFC 9110, 14). */
import { AppError } from '#src/domain/errors.ts'
import { count } from '#src/platform/count.ts'

const pattern = /^bytes=(?:(?<first>\d{1,15})-(?<last>\d{1,15})?|-(?<suffix>\d{1,15}))$/

/**
 * Start (inclusive) and end (exclusive); undefined for the whole, which is also sent for malformed
 * or multiple ranges, and if `If-Range` names another version. Throws `range_not_satisfiable`.
 */
export function byteRangeOf(
  { headers }: Request,
  { length, etag }: { length: number; etag: string },
): [start: number, end: number] | undefined {
  const found = pattern.exec(headers.get('range') ?? '')?.groups
  const condition = headers.get('if-range')
  if (found === undefined || (condition !== null && condition !== etag)) return undefined
  const { first, last, suffix } = found
  const start = first === undefined ? Math.max(0, length - Number(suffix)) : Number(first)
  const end = last === undefined ? length : Math.min(length, Number(last) + 1)
  // A range whose end precedes its start is invalid.
  if (first !== undefined && last !== undefined && Number(last) < Number(first)) return undefined
  if (start < length && Number(suffix ?? 1) > 0) return [start, end]
  throw new AppError(
    'range_not_satisfiable',
    `The file has ${count(length, 'byte')}, and the range begins after its end.`,
    { param: 'Range', contentRange: `bytes */${length}` },
  )
}
