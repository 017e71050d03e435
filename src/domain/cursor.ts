/**
 * Cursors: a position in a list, sealed to that list and all its filters. They never expire, so
 * their format never changes: `version, position, CRC-32 of the scope, seal`, in base64url.
 */

import { timingSafeEqual } from 'node:crypto'

import { crc32 } from '#src/platform/crc32.ts'

import { AppError } from './errors.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'

const VERSION = 1
const CRC_BYTES = 4
const SEAL_BYTES = 16
/** A cursor of a coin's live stream holds a position in each market of the coin. */
const CURSOR_LENGTH_MAX = 4000

/** Encodes and decodes the position of a cursor. */
type PositionFormat<P> = {
  encode: (position: P) => Uint8Array
  decode: (payload: Uint8Array) => P
}

/**
 * A list that clients read page by page, declared beside its route. Lists that streams follow too
 * are in `lists.ts`.
 */
export type CursorList<Filters, P> = {
  name: string
  /**
   * The values that select and order the rows, as texts; undefined becomes ''. The same filters
   * must always give the same texts, or cursors that clients have kept are refused.
   */
  filters: (filters: Filters) => readonly (string | number | undefined)[]
  position: PositionFormat<P>
  /** The position before all rows. A list without it sends no `X-Resume-Cursor`. */
  start?: (filters: Filters) => P
}

/** The end of a page. */
export type PageEnd<P> = {
  /** Position of the last row; undefined on an empty page. */
  last: P | undefined
  hasMore: boolean
  /** Position from which a follower resumes, if that is not the last row. */
  resume?: P | undefined
}

/** A page that is about to be read. */
export type Walk<P> = {
  /** The page begins after this position; undefined for the beginning of the list. */
  after: P | undefined
  /** The cursors of a page with this end. */
  end: (end: PageEnd<P>) => { nextCursor: string | null; resumeCursor: string | undefined }
}

export type CursorCodec = ReturnType<typeof createCursorCodec>

/** `key` is 32 secret bytes. */
export function createCursorCodec(key: Uint8Array) {
  const sealOf = (sealed: Uint8Array): Uint8Array =>
    new Bun.CryptoHasher('sha256', key).update(sealed).digest().subarray(0, SEAL_BYTES)

  function encode<Filters, P>(list: CursorList<Filters, P>, filters: Filters, position: P): string {
    const payload = list.position.encode(position)
    const bytes = Buffer.alloc(1 + payload.length + CRC_BYTES + SEAL_BYTES)
    bytes[0] = VERSION
    bytes.set(payload, 1)
    bytes.writeUInt32LE(scopeCrc(list, filters), 1 + payload.length)
    bytes.set(sealOf(bytes.subarray(0, -SEAL_BYTES)), bytes.length - SEAL_BYTES)
    return bytes.toString('base64url')
  }

  /** Throws `cursor_invalid`, or `cursor_mismatch` for a cursor of another list or filters. */
  function decode<Filters, P>(list: CursorList<Filters, P>, filters: Filters, cursor: string): P {
    const bytes = Buffer.from(cursor.slice(0, CURSOR_LENGTH_MAX), 'base64url')
    const sealed = bytes.subarray(0, -SEAL_BYTES)
    const isOurs =
      bytes.length > 1 + CRC_BYTES + SEAL_BYTES &&
      bytes[0] === VERSION &&
      // A position has exactly one encoding: stray bits and characters are refused.
      bytes.toString('base64url') === cursor &&
      timingSafeEqual(sealOf(sealed), bytes.subarray(-SEAL_BYTES))
    if (!isOurs) {
      throw new AppError(
        'cursor_invalid',
        'The cursor was not issued by this server. Send `nextCursor` or `X-Resume-Cursor` unchanged, or leave it out to start over.',
        { param: 'cursor' },
      )
    }
    if (sealed.readUInt32LE(sealed.length - CRC_BYTES) !== scopeCrc(list, filters)) {
      throw new AppError(
        'cursor_mismatch',
        'The cursor belongs to another market or other filters. Repeat every parameter of the first page; only `limit` may change.',
        { param: 'cursor' },
      )
    }
    return list.position.decode(sealed.subarray(1, -CRC_BYTES))
  }

  return {
    encode,
    decode,

    /** Begins a page, after `cursor` if there is one. Throws what `decode` throws. */
    walk<Filters, P>(
      list: CursorList<Filters, P>,
      filters: Filters,
      cursor: string | undefined,
    ): Walk<P> {
      const after = cursor === undefined ? undefined : decode(list, filters, cursor)
      const toCursor = (position: P) => encode(list, filters, position)
      return {
        after,
        end({ last, hasMore, resume }) {
          const behind = last ?? after ?? list.start?.(filters)
          if (behind === undefined) return { nextCursor: null, resumeCursor: undefined }
          const nextCursor = hasMore ? toCursor(behind) : null
          if (list.start === undefined) return { nextCursor, resumeCursor: undefined }
          if (nextCursor !== null && resume === undefined)
            return { nextCursor, resumeCursor: nextCursor }
          return { nextCursor, resumeCursor: toCursor(resume ?? behind) }
        },
      }
    },
  }
}

/** CRC of the scope. The seal covers it, so forging a scope with the same CRC gains nothing. */
function scopeCrc<Filters, P>(list: CursorList<Filters, P>, filters: Filters): number {
  let scope = list.name
  for (const part of list.filters(filters)) scope += ` ${part ?? ''}`
  return crc32(Buffer.from(scope))
}

/** Runs `read`; the error of a refused cursor names the parameter or header that held it. */
export function withCursorParam<T>(param: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof AppError && error.extras.param === 'cursor'
      ? withParam(param, error)
      : error
  }
}

const withParam = (param: string, cause: AppError): AppError =>
  new AppError(cause.code, cause.message, { ...cause.extras, param, cause })

/** Times and ids both have 48 bits. */
const NUMBER_BYTES = 6

function toBytes(number: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  bytes.writeUIntBE(number, 0, NUMBER_BYTES)
  return bytes
}

const numberAt = (payload: Uint8Array, index: number): number =>
  Buffer.from(payload).readUIntBE(index * NUMBER_BYTES, NUMBER_BYTES)

/** A row of a market: time and id. */
export const rowPosition: PositionFormat<Position> = {
  encode: ({ timestampMs, id }) => Buffer.concat([toBytes(timestampMs), toBytes(id)]),
  decode: (payload) => ({ timestampMs: numberAt(payload, 0), id: numberAt(payload, 1) }),
}

/** A row of a list that is ordered by id only. */
export const idPosition: PositionFormat<number> = {
  encode: (id) => rowPosition.encode({ timestampMs: 0, id }),
  decode: (payload) => numberAt(payload, 1),
}

/** A row of a market, and a further number if the position has it. */
const rowPositionWith = <Name extends string>(
  name: Name,
): PositionFormat<Position & { readonly [more in Name]?: number | undefined }> => ({
  encode(position) {
    const row = rowPosition.encode(position)
    const more: number | undefined = position[name]
    return more === undefined ? row : Buffer.concat([row, toBytes(more)])
  },
  decode(payload) {
    const position = rowPosition.decode(payload)
    const more = payload.length < 3 * NUMBER_BYTES ? {} : { [name]: numberAt(payload, 2) }
    return Object.assign(position, more)
  },
})

/** `seen` is the greatest id known when everything up to the position was read. */
export type SpotPosition = Position & { seen?: number | undefined }

/** A price of a coin. */
export const spotPosition = rowPositionWith('seen')

/**
 * The last change read of a market. `other` is the id of the last state of the other outcome that
 * the reader has, 0 for none; undefined if the reader has the book of neither.
 */
export type ChangePosition = Position & { readonly other?: number | undefined }
export const changePosition = rowPositionWith('other')

/** A market in a list ordered by the start of the window. */
export type MarketPosition = { orderMs: number; conditionId: string }

// Condition ids have two lengths; the id ends the payload, so it needs no length field.
export const marketPosition: PositionFormat<MarketPosition> = {
  encode: ({ orderMs, conditionId }) =>
    Buffer.concat([toBytes(orderMs), Buffer.from(conditionId.slice(2), 'hex')]),
  decode: (payload) => ({
    orderMs: numberAt(payload, 0),
    conditionId: `0x${Buffer.from(payload).toString('hex', NUMBER_BYTES)}`,
  }),
}

/** An object in a list ordered by time of creation, then id. */
export type CreatedPosition = { createdMs: number; id: string }

export const createdPosition: PositionFormat<CreatedPosition> = {
  encode: ({ createdMs, id }) => Buffer.concat([toBytes(createdMs), Buffer.from(id)]),
  decode: (payload) => ({
    createdMs: numberAt(payload, 0),
    id: Buffer.from(payload).toString('utf8', NUMBER_BYTES),
  }),
}

/** Any position that JSON can represent, as a longer text. */
export const jsonPosition = <P>(): PositionFormat<P> => ({
  encode: (position) => Buffer.from(JSON.stringify(position)),
  decode: (payload) => JSON.parse(Buffer.from(payload).toString()) as P,
})

/** Raw bytes, unchanged. */
export const bytesPosition: PositionFormat<Uint8Array> = {
  encode: (payload) => payload,
  decode: (payload) => payload,
}

const TIME_MAX = 2 ** 48 - 1

type Range = TimeRange & { order?: 'asc' | 'desc' }

const startMsOf = ({ order, fromMs = 0, toMs = TIME_MAX }: Range): number =>
  Math.min(order === 'desc' ? toMs : fromMs, TIME_MAX)

/** The position before all rows of a range, in its direction. */
export const startOf = (range: Range): Position => ({ timestampMs: startMsOf(range), id: 0 })

export const startOfMarkets = (range: Range): MarketPosition => ({
  orderMs: startMsOf(range),
  conditionId: `0x${'0'.repeat(64)}`,
})
