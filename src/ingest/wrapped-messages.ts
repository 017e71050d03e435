/**
 * Messages of the venue as others keep them: as they came, or in a member of an object, as text or
 * as an object, with the time of receipt beside it.
 */

import { isRecordFault } from '#src/domain/record-fault.ts'
import { MOMENT_MS_MAX, VENUE_OPENED_MS } from '#src/domain/time.ts'
import { toReceivedMs } from '#src/domain/wire/snapshot-values.ts'
import { isRecord } from '#src/platform/record.ts'
import { withoutExponent } from '#src/venue/json-fields.ts'

/** Whether a text begins with messages, which may be JSON inside a string. */
export const holdsWrapped = (head: string): boolean =>
  /\\*"(?:event_type|asset_id)\\*"\s*:/.test(head)

const holders = ['raw', 'raw_message', 'payload', 'msg', 'message', 'data', 'frame', 'body']
/** Members of ours: a bad value is a fault of the line. */
const ownReceipts = ['_recv', 'receivedAt']
/** Members of others, the likeliest first. */
const receipts = [
  /^_?rec(?:v|eived?|eipt)(?:_|$)/i,
  /^(?:received|recv)(?:At|Ms|Ns|Ts|Time)/,
  /^(?:local|capture[d]?|arriv(?:al|ed)|collected)_?(?:timestamp|time|ts|at)/i,
]
/** Beside a message in a member, also the names of any time. */
const looseReceipts = [...receipts, /^(?:ts|time|timestamp|t)(?:_(?:ms|us|ns|s))?$/i]
/** A clock that counts from the start of a machine. */
const monotonic = /mono|perf|uptime/i

/** How deep objects in objects are searched. */
const DEPTH_MAX = 4

/**
 * Reads one line or entry. A receipt time is ISO 8601, or Unix seconds, milliseconds, microseconds
 * or nanoseconds, by its magnitude. In the returned text numbers are strings, as the venue writes
 * them. Throws a `record` fault.
 */
export function readKeptMessage(text: string): { text: string; receivedMs: number | undefined } {
  const seen = { hasNumbers: false }
  const value = parseWithTexts(text, seen)
  if (value === undefined) return { text, receivedMs: undefined }
  const found = unwrap(value, seen, DEPTH_MAX)
  if (typeof found.value === 'string') return { text: found.value, receivedMs: found.receivedMs }
  const isAsItCame = found.value === value && !seen.hasNumbers
  return {
    text: isAsItCame ? text : JSON.stringify(found.value),
    receivedMs: found.receivedMs,
  }
}

/** Numbers become their own text, so that none goes through a float. */
function parseWithTexts(text: string, seen: { hasNumbers: boolean }): unknown {
  const toText = (key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number') return value
    if (!key.startsWith('_')) seen.hasNumbers = true
    return withoutExponent(context?.source ?? String(value))
  }
  try {
    return JSON.parse(text, toText)
  } catch {
    return undefined
  }
}

function unwrap(
  value: unknown,
  seen: { hasNumbers: boolean },
  depth: number,
): { value: unknown; receivedMs: number | undefined } {
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (!isRecord(first)) return { value, receivedMs: undefined }
  if (depth === 0 || Array.isArray(value) || isMessage(first))
    return { value, receivedMs: findReceipt(first, receipts) }
  const holder = holders.find((name) => isHeld(first[name]))
  if (holder === undefined) return { value, receivedMs: findReceipt(first, receipts) }
  const held = first[holder]
  const parsed = typeof held === 'string' ? parseWithTexts(held, { hasNumbers: false }) : held
  // Text that is not JSON, such as the answer to a ping, is left to the venue's reader.
  if (typeof parsed !== 'object' || parsed === null) return { value: held, receivedMs: undefined }
  const inner = unwrap(parsed, seen, depth - 1)
  return { ...inner, receivedMs: inner.receivedMs ?? findReceipt(first, looseReceipts) }
}

const isMessage = (value: Record<string, unknown>): boolean =>
  typeof value.event_type === 'string' || (value.asset_id !== undefined && 'bids' in value)

const isHeld = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || (typeof value === 'string' && value !== '')

function findReceipt(
  value: Record<string, unknown>,
  patterns: readonly RegExp[],
): number | undefined {
  for (const name of ownReceipts) {
    const own = value[name]
    if (own !== undefined && own !== null) return toReceivedMs(String(own), name)
  }
  const names = Object.keys(value).filter((name) => !monotonic.test(name))
  for (const pattern of patterns) {
    for (const name of names) {
      const receivedMs = pattern.test(name) ? tryReceipt(value[name]) : undefined
      if (receivedMs !== undefined) return receivedMs
    }
  }
  return undefined
}

/** Undefined for a value that cannot be a time of receipt, such as a duration. */
function tryReceipt(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  try {
    const receivedMs = toReceivedMs(value, '')
    return receivedMs >= VENUE_OPENED_MS && receivedMs <= MOMENT_MS_MAX ? receivedMs : undefined
  } catch (error) {
    if (isRecordFault(error)) return undefined
    throw error
  }
}
