/** One who follows: what waits to be sent, and what the text so far amounts to. */
import type { TextSum } from '#src/history/history.ts'
import { crcBetween, crcJoin } from '#src/lib/crc32.ts'

/** What waits of a follower, beyond which nothing more is made for him. */
const WAITING_BYTES_MAX = 262_144

export function createMember(isAllowed: () => boolean) {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let isOver = false
  let fault: unknown
  let wake: (() => void) | undefined
  /** His text where he joined, and that of whom he joined. */
  let joined: { own: TextSum; other: TextSum } | undefined

  function take(): Uint8Array {
    const piece = Buffer.concat(waiting)
    waiting = []
    bytes = 0
    return piece
  }

  function next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    return promise
  }

  const member = {
    /** False once his key has ended. */
    isAllowed,

    get isFull() {
      return bytes > WAITING_BYTES_MAX
    },

    push(piece: Uint8Array): void {
      waiting.push(piece)
      bytes += piece.length
      wake?.()
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
      wake?.()
    },

    async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
      while (!isOver || waiting.length > 0) {
        if (waiting.length > 0) yield take()
        else await next()
      }
      if (fault !== undefined) throw fault
    },
  }
  return member
}

export type Member = ReturnType<typeof createMember>
