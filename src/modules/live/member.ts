/** One who follows: what waits to be sent, and what the text so far amounts to. */
import type { TextSum } from '#src/history/history.ts'
import { crcBetween, crcJoin } from '#src/lib/crc32.ts'

/** What waits of a follower, beyond which nothing more is made for him. */
const WAITING_BYTES_MAX = 262_144

type Piece = IteratorResult<Uint8Array, void>
const OVER: Piece = { done: true, value: undefined }

export function createMember(isAllowed: () => boolean) {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let isOver = false
  let fault: unknown
  /** Of whoever waits for a piece. */
  let pending: PromiseWithResolvers<Piece> | undefined
  /** His text where he joined, and that of whom he joined. */
  let joined: { own: TextSum; other: TextSum } | undefined

  function take(): Uint8Array {
    const [first] = waiting
    const piece = first !== undefined && waiting.length === 1 ? first : Buffer.concat(waiting)
    waiting = []
    bytes = 0
    return piece
  }

  /** No generator, whose turns are costly where a thousand follow. */
  function next(): Promise<Piece> {
    if (bytes > 0) return Promise.resolve({ value: take() })
    if (fault !== undefined) return Promise.reject(fault)
    if (isOver) return Promise.resolve(OVER)
    pending = Promise.withResolvers()
    return pending.promise
  }

  function settle(piece: Piece): void {
    pending?.resolve(piece)
    pending = undefined
  }

  const member = {
    /** False once his key has ended. */
    isAllowed,

    get isFull() {
      return bytes > WAITING_BYTES_MAX
    },

    push(piece: Uint8Array): void {
      if (pending) settle({ value: piece })
      else {
        waiting.push(piece)
        bytes += piece.length
      }
    },

    /** The sum of his text, where the text of those whom he follows with has the sum `now`. */
    sumAt(now: TextSum): TextSum {
      if (joined === undefined) return { ...now }
      const { own, other } = joined
      const more = now.bytes - other.bytes
      const crc = crcJoin(own.crc, crcBetween(other.crc, now.crc, more), more)
      return { crc, bytes: own.bytes + more }
    },

    join(before: TextSum, other: TextSum): void {
      joined = { own: member.sumAt(before), other: { ...other } }
    },

    /** Nothing follows; with an error what was sent is cut off. */
    end(error?: unknown): void {
      isOver = true
      fault = error
      if (error === undefined) settle(OVER)
      else pending?.reject(error)
    },

    next,

    async return(): Promise<Piece> {
      member.end()
      return OVER
    },
  }
  return member
}

export type Member = ReturnType<typeof createMember>
