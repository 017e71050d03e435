/** A place in a list as `version, payload, scope tag, seal`, in base64url; it never expires. */
import { timingSafeEqual } from 'node:crypto'

import { crc32 } from '#src/platform/crc32.ts'

import { AppError } from './errors.ts'
import type { Position } from './snapshot.ts'

const VERSION = 1
const TAG_BYTES = 4
const SEAL_BYTES = 16
/** Those of live streams of a coin hold a place in each of its markets. */
const CURSOR_LENGTH_MAX = 4000

export type CursorCodec = ReturnType<typeof createCursorCodec>

/** The seal covers it, so nobody gains by finding another scope with the same tag. */
const tagOf = (scope: string): number => crc32(Buffer.from(scope))

/** `key` has 32 secret bytes. `scope` names a list with all its filters. */
export function createCursorCodec(key: Uint8Array) {
  const sealOf = (sealed: Uint8Array): Uint8Array =>
    new Bun.CryptoHasher('sha256', key).update(sealed).digest().subarray(0, SEAL_BYTES)

  return {
    encode(scope: string, payload: Uint8Array): string {
      const bytes = Buffer.alloc(1 + payload.length + TAG_BYTES + SEAL_BYTES)
      bytes[0] = VERSION
      bytes.set(payload, 1)
      bytes.writeUInt32LE(tagOf(scope), 1 + payload.length)
      bytes.set(sealOf(bytes.subarray(0, -SEAL_BYTES)), bytes.length - SEAL_BYTES)
      return bytes.toString('base64url')
    },

    /** Throws `cursor_invalid`, or `cursor_mismatch` for one of another scope. */
    decode(scope: string, cursor: string): Uint8Array {
      const bytes = Buffer.from(cursor.slice(0, CURSOR_LENGTH_MAX), 'base64url')
      const sealed = bytes.subarray(0, -SEAL_BYTES)
      const isOurs =
        bytes.length > 1 + TAG_BYTES + SEAL_BYTES &&
        bytes[0] === VERSION &&
        // One place has one spelling: stray bits and characters are refused.
        bytes.toString('base64url') === cursor &&
        timingSafeEqual(sealOf(sealed), bytes.subarray(-SEAL_BYTES))
      if (!isOurs) {
        throw new AppError(
          'cursor_invalid',
          'The cursor is not one of ours. Send `nextCursor` or `X-Resume-Cursor` unchanged, or leave it out to start over.',
          { param: 'cursor' },
        )
      }
      if (sealed.readUInt32LE(sealed.length - TAG_BYTES) !== tagOf(scope)) {
        throw new AppError(
          'cursor_mismatch',
          'The cursor belongs to another market or other filters. Repeat every parameter of the first page; only `limit` may change.',
          { param: 'cursor' },
        )
      }
      return sealed.subarray(1, -TAG_BYTES)
    },
  }
}

/** What is wrong with a cursor is said of what it came in, where that is not `cursor`. */
export function namingCursor<T>(param: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof AppError && error.extras.param === 'cursor'
      ? naming(param, error)
      : error
  }
}

const naming = (param: string, cause: AppError): AppError =>
  new AppError(cause.code, cause.message, { ...cause.extras, param, cause })

const TIME_MAX = 2 ** 48 - 1

export type MarketPlace = { orderMs: number; conditionId: string }

type Range = { order: 'asc' | 'desc'; fromMs?: number | undefined; toMs?: number | undefined }

const startMsOf = ({ order, fromMs = 0, toMs = TIME_MAX }: Range): number =>
  Math.min(order === 'asc' ? fromMs : toMs, TIME_MAX)

/** The position before every row of a query, in its direction. */
export const startOf = (range: Range): Position => ({ timestampMs: startMsOf(range), id: 0 })

export const startOfMarkets = (range: Range): MarketPlace => ({
  orderMs: startMsOf(range),
  conditionId: `0x${'0'.repeat(64)}`,
})

/** Times and ids alike have 48 bits. */
const NUMBER_BYTES = 6

function toBytes(number: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  bytes.writeUIntBE(number, 0, NUMBER_BYTES)
  return bytes
}

export const encodePosition = ({ timestampMs, id }: Position): Uint8Array =>
  Buffer.concat([toBytes(timestampMs), toBytes(id)])

export function decodePosition(payload: Uint8Array): Position {
  const bytes = Buffer.from(payload)
  const id = bytes.readUIntBE(NUMBER_BYTES, NUMBER_BYTES)
  return { timestampMs: bytes.readUIntBE(0, NUMBER_BYTES), id }
}

/** With the greatest id that was known when everything up to there was read, if it is known. */
export const encodeSpotPlace = ({ seen, ...position }: Position & { seen?: number }): Uint8Array =>
  Buffer.concat([encodePosition(position), ...(seen === undefined ? [] : [toBytes(seen)])])

/** The greatest id that was known at a position; undefined where that is not in it. */
export const decodeSeen = (payload: Uint8Array): number | undefined =>
  payload.length < 3 * NUMBER_BYTES
    ? undefined
    : Buffer.from(payload).readUIntBE(2 * NUMBER_BYTES, NUMBER_BYTES)

// The length of the second part is the id's own: there are two.
export const encodeMarketPlace = ({ orderMs, conditionId }: MarketPlace): Uint8Array =>
  Buffer.concat([toBytes(orderMs), Buffer.from(conditionId.slice(2), 'hex')])

export function decodeMarketPlace(payload: Uint8Array): MarketPlace {
  const bytes = Buffer.from(payload)
  const conditionId = `0x${bytes.toString('hex', NUMBER_BYTES)}`
  return { orderMs: bytes.readUIntBE(0, NUMBER_BYTES), conditionId }
}
