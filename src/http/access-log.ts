/**
 * One JSON line a request. It is concatenated, because `JSON.stringify` of an object costs more
 * than the rest of the request's bookkeeping; only what the caller sent is escaped.
 */

import { redactKeys } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'

const TARGET_LENGTH_MAX = 2048
const MS_PER_SECOND = 1000

type AccessRecord = {
  /** Nothing in it needs escaping, nor in `traceparent`. */
  requestId: string
  keyId: string | undefined
  method: string
  target: string
  status: number
  /** Length of the body; undefined for a stream. */
  bytes: number | undefined
  durationMs: number
  traceparent?: string | undefined
  error?: string | undefined
}

/** Creates what prints a record, newline included; as text for people if that is wanted. */
export function createAccessLine(clock: Clock, isText = false): (record: AccessRecord) => string {
  const timeText = createTimeText(clock)
  return (record) => {
    const { requestId, keyId, method, target, status, bytes, durationMs } = record
    const { traceparent, error } = record
    const cut = target.length > TARGET_LENGTH_MAX ? target.slice(0, TARGET_LENGTH_MAX) : target
    const path = redactKeys(cut)
    const level = error === undefined ? 'info' : 'error'
    const took = Math.round(durationMs * 1000) / 1000
    if (isText) {
      const parts = [timeText(), level, method, quote(path), status, `${bytes ?? '-'} bytes`]
      const own = [
        ...parts,
        `${took} ms`,
        requestId,
        keyId,
        traceparent,
        error && redactKeys(error),
      ]
      return `${own
        .filter((part) => part !== undefined)
        .join(' ')
        .replaceAll('\n', ' | ')}\n`
    }
    const key = keyId === undefined ? 'null' : `"${keyId}"`
    const line = `{"time":"${timeText()}","level":"${level}","requestId":"${requestId}","key":${key},"method":${quote(method)},"path":${quote(path)},"status":${status},"bytes":${bytes ?? 'null'},"durationMs":${took}`
    const trace = traceparent === undefined ? '' : `,"traceparent":"${traceparent}"`
    return error === undefined
      ? `${line}${trace}}\n`
      : `${line}${trace},"error":${JSON.stringify(redactKeys(error))}}\n`
  }
}

/** What nearly every address is made of: nothing that JSON would escape. */
const plain = /^[\w/?&=.,:~%+-]*$/

const quote = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text))

/** ISO 8601 of now; the part that changes once a second is kept. */
function createTimeText(clock: Clock): () => string {
  let second = Number.NaN
  let prefix = ''
  return () => {
    const nowMs = clock()
    const current = Math.floor(nowMs / MS_PER_SECOND)
    if (current !== second) {
      second = current
      prefix = new Date(current * MS_PER_SECOND).toISOString().slice(0, -'000Z'.length)
    }
    return `${prefix}${String(nowMs - current * MS_PER_SECOND).padStart(3, '0')}Z`
  }
}
