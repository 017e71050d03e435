/**
 * Responses that their clients have not read yet. Their bytes are counted by caller and in total; at
 * a bound, further responses are refused. Bun does not report that a response has been sent, but then
 * it knows no address of the request any more, so the addresses are polled.
 */
import { AppError } from '#src/domain/errors.ts'
import type { ConcurrencyLimit, Refused } from '#src/platform/concurrency-limit.ts'

import type { Holder, PeerSource } from './call.ts'

/**
 * Responses of this size are counted before they are sent, and refused if there is no room. Smaller
 * ones are counted if they are unread at the second poll; most have been read by then.
 */
const LARGE_BYTES = 262_144
/** The maximum of all responses that are not counted yet. */
const UNCOUNTED_BYTES_MAX = 32_000_000
/** Smaller responses fit into the system's buffer of a connection. */
const SMALL_BYTES = 16_384
/**
 * The maximum of a caller, by level: paying, free, guests. A caller without unread responses gets
 * one of any size.
 */
const UNREAD_BYTES_MAX = [64_000_000, 16_000_000, 8_000_000] as const
const LOOK_MS = 5
/** Responses that are polled at a time. */
const LOOKS_MAX = 200
/** A connection whose client reads nothing for so long is closed. */
const IDLE_SECONDS = 10
const RETRY_SECONDS = 1

type Sent = { request: Request; peers: PeerSource; bytes: number; holder: Holder }
/** `release` subtracts the counted bytes. */
type Waiting = Sent & { release: () => void }

export type Unread = ReturnType<typeof createUnread>

export function createUnread({ bytes: places }: { bytes: ConcurrencyLimit }) {
  /** Responses that are not counted yet: those made since the last poll, and those before it. */
  let fresh: Sent[] = []
  let earlier: Sent[] = []
  let uncountedBytes = 0
  /** The one that was polled first comes first. */
  const waiting = new Set<Waiting>()
  let timer: ReturnType<typeof setInterval> | undefined

  const isTaken = ({ request, peers }: Sent): boolean => peers.requestIP(request) === null

  const wantedBy = ({ owner, level, group }: Holder, size: number) => ({
    owner,
    level,
    group,
    size,
    ownMax: UNREAD_BYTES_MAX[level] ?? 0,
  })

  /** Counts a response that was sent already. */
  function force(sent: Sent): () => void {
    sent.peers.timeout?.(sent.request, IDLE_SECONDS)
    return places.force(wantedBy(sent.holder, sent.bytes))
  }

  /** Takes room; if there seems to be none, polls all responses first. */
  function take(holder: Holder, size: number): Refused | (() => void) {
    const wanted = wantedBy(holder, size)
    const place = places.open(wanted)
    if (typeof place !== 'string') return place
    releaseTaken(waiting.size)
    return places.open(wanted)
  }

  function releaseTaken(countMax: number): void {
    // Unread responses move to the end.
    let left = Math.min(countMax, waiting.size)
    for (const each of waiting) {
      if (left-- === 0) break
      waiting.delete(each)
      if (isTaken(each)) each.release()
      else waiting.add(each)
    }
  }

  /** Counts the responses that were made before the last poll and are unread. */
  function countEarlier(): void {
    for (const sent of earlier) {
      uncountedBytes -= sent.bytes
      if (!isTaken(sent)) waiting.add({ ...sent, release: force(sent) })
    }
    earlier = fresh
    fresh = []
  }

  function look(): void {
    releaseTaken(LOOKS_MAX)
    countEarlier()
    if (waiting.size > 0 || earlier.length > 0 || timer === undefined) return
    clearInterval(timer)
    timer = undefined
  }

  function addUncounted(sent: Sent): void {
    fresh.push(sent)
    uncountedBytes += sent.bytes
    while (uncountedBytes > UNCOUNTED_BYTES_MAX) countEarlier()
  }

  const watch = (): void => {
    timer ??= setInterval(look, LOOK_MS).unref()
  }

  return {
    /** Throws `unavailable` if the caller's unread responses have reached its maximum. */
    assertRoom(holder: Holder): void {
      if (places.total() === 0) return
      const wanted = wantedBy(holder, 1)
      if (places.wouldRefuse(wanted) === undefined) return
      releaseTaken(waiting.size)
      const refused = places.wouldRefuse(wanted)
      if (refused !== undefined) throw unreadError(refused)
    },

    /**
     * Counts a response before it is sent. Throws `unavailable` if there is no room, unless the
     * response is `paidFor` by itself.
     */
    hold(sent: Sent, paidFor = false): void {
      const { bytes, peers } = sent
      // A request inside another one has no connection.
      if (bytes < SMALL_BYTES || peers.timeout === undefined) return
      if (bytes < LARGE_BYTES || paidFor) addUncounted(sent)
      else {
        const release = take(sent.holder, bytes)
        if (typeof release === 'string') throw unreadError(release)
        peers.timeout(sent.request, IDLE_SECONDS)
        waiting.add({ ...sent, release })
      }
      watch()
    },

    /** Counts unread bytes of a live connection; returns as `ConcurrencyLimit` does. */
    take,

    /** Unread bytes of all callers. */
    total: places.total,
  }
}

const unreadError = (refused: Refused): AppError =>
  new AppError(
    'unavailable',
    refused === 'all'
      ? 'The server holds too many responses that were not read. Try again in a moment.'
      : 'Your connections have not read earlier responses. Read them, then repeat the request.',
    { retryAfterSeconds: RETRY_SECONDS },
  )
