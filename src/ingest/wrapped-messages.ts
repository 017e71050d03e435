/**
 * Messages of the venue as people keep them: as they came, or in a member of an object, as text or
 * as an object, with the time of receipt beside it.
 */

import { isRecordFault } from '#src/domain/record-fault.ts'
import { MOMENT_MS_MAX, VENUE_OPENED_MS } from '#src/domain/time.ts'
import { toReceivedMs } from '#src/domain/wire/snapshot-values.ts'
import { isRecord } from '#src/platform/record.ts'
import { withoutExponent } from '#src/venue/json-fields.ts'

/** `text` is what the venue's reader takes; numbers in it are texts, as the venue writes them. */
export type KeptMessage = { text: string; receivedMs: number | undefined }

/** Whether a text begins with messages, which may be JSON inside a string. */
export const holdsWrapped = (head: string): boolean =>
  /\\*"(?:event_type|asset_id)\\*"\s*:/.test(head)

const holders = ['raw', 'raw_message', 'payload', 'msg', 'message', 'data', 'frame', 'body']
/** Of ours. What is wrong with it is a fault of the line. */
const ownReceipts = ['_recv', 'receivedAt']
/** Of others, the likeliest first; beside a message in a member also names of any time. */
const receipts = [
  /^_?rec(?:v|eived?|eipt)(?:_|$)/i,
  /^(?:received|recv)(?:At|Ms|Ns|Ts|Time)/,
  /^(?:local|capture[d]?|arriv(?:al|ed)|collected)_?(?:timestamp|time|ts|at)/i,
]
const looseReceipts = [...receipts, /^(?:ts|time|timestamp|t)(?:_(?:ms|us|ns|s))?$/i]
/** A clock that counts from the start of a machine. */
const monotonic = /mono|perf|uptime/i

/** Objects in objects are looked through so deep. */
const DEPTH_MAX = 4

/**
 * Reads one line or entry. A receipt time is Unix seconds, milliseconds, microseconds or
 * nanoseconds, which its magnitude says, or ISO 8601. Throws a `record` fault.
 */
export function readKeptMessage(text: string): KeptMessage {
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

type Seen = { hasNumbers: boolean }

/** Numbers become the text that stands there, so that none goes through a float. */
function parseWithTexts(text: string, seen: Seen): unknown {
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

type Unwrapped = { value: unknown; receivedMs: number | undefined }

function unwrap(value: unknown, seen: Seen, depth: number): Unwrapped {
  const first: unknown = Array.isArray(value) ? value[0] : value
  if (!isRecord(first)) return { value, receivedMs: undefined }
  if (depth === 0 || Array.isArray(value) || isMessage(first))
    return { value, receivedMs: receiptOf(first, receipts) }
  const holder = holders.find((name) => isHeld(first[name]))
  if (holder === undefined) return { value, receivedMs: receiptOf(first, receipts) }
  const held = first[holder]
  const parsed = typeof held === 'string' ? parseWithTexts(held, { hasNumbers: false }) : held
  // What is no JSON, such as the answer to a ping, is the venue's reader's to name.
  if (typeof parsed !== 'object' || parsed === null) return { value: held, receivedMs: undefined }
  const inner = unwrap(parsed, seen, depth - 1)
  return { ...inner, receivedMs: inner.receivedMs ?? receiptOf(first, looseReceipts) }
}

const isMessage = (value: Record<string, unknown>): boolean =>
  typeof value.event_type === 'string' || (value.asset_id !== undefined && 'bids' in value)

const isHeld = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || (typeof value === 'string' && value !== '')

function receiptOf(
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

/** What is no time that could be one of receipt, such as a duration, is none. */
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
