/**
 * Answers that were made and not yet taken by their clients. Their bytes are counted by caller and
 * in all, and where a bound is reached, further answers are refused. Bun says nothing of an answer
 * that has been sent, but then has no address of its request any more: so it is asked, now and then.
 */
import { AppError } from '#src/domain/errors.ts'
import type { ConcurrencyLimit, Refused } from '#src/platform/concurrency-limit.ts'

import type { PeerSource, Visit } from './visit.ts'
import { holderOf } from './work.ts'

/**
 * Answers from here on are counted before they are handed on, and refused where there is no room.
 * Smaller ones are counted if they still wait at the second look after that: most are taken by then.
 */
const LARGE_BYTES = 262_144
/** Answers that are not counted yet have at most so many bytes together. */
const UNCOUNTED_BYTES_MAX = 32_000_000
/** The smallest answers fit into what the system keeps for a connection. */
const SMALL_BYTES = 16_384
/** A caller's answers, by level: paying, free, guests. A caller without any gets one of any size. */
const UNREAD_BYTES_MAX = [64_000_000, 16_000_000, 8_000_000] as const
const LOOK_MS = 5
/** Answers that are asked about in one look. */
const LOOKS_MAX = 200
/** How long a client may take nothing of an answer, also of one that it waited for. */
const IDLE_SECONDS = 10
const RETRY_SECONDS = 1

/** Under whom bytes are counted. */
type Holder = { owner: string; level: number; group?: string | undefined }
/** An answer of a caller, who is `holder` or else of the visit. */
type Sent = {
  request: Request
  peers: PeerSource
  bytes: number
  visit?: Visit
  holder?: Holder
}
/** `release` gives back what is counted. */
type Waiting = Sent & { release: () => void }

export type Unread = ReturnType<typeof createUnread>

export function createUnread({ bytes: places }: { bytes: ConcurrencyLimit }) {
  /** Not counted yet: made since the last look, and before it. */
  let fresh: Sent[] = []
  let earlier: Sent[] = []
  let uncountedBytes = 0
  /** The one that was asked about least lately is the first. */
  const waiting = new Set<Waiting>()
  let timer: ReturnType<typeof setInterval> | undefined

  const isTaken = ({ request, peers }: Sent): boolean => peers.requestIP(request) === null
  const holderBy = ({ visit, holder }: Sent): Holder =>
    holder ?? (visit === undefined ? NOBODY : holderOf(visit))

  const wantedBy = ({ owner, level, group }: Holder, size: number) => ({
    owner,
    level,
    group,
    size,
    ownMax: UNREAD_BYTES_MAX[level] ?? 0,
  })

  /** Counts what is there already. */
  function force(sent: Sent): () => void {
    sent.peers.timeout?.(sent.request, IDLE_SECONDS)
    return places.force(wantedBy(holderBy(sent), sent.bytes))
  }

  /** Takes room, after a look at all that waits where there seems to be none. */
  function take(holder: Holder, size: number): Refused | (() => void) {
    const wanted = wantedBy(holder, size)
    const place = places.open(wanted)
    if (typeof place !== 'string') return place
    releaseTaken(waiting.size)
    return places.open(wanted)
  }

  function releaseTaken(countMax: number): void {
    // Those that still wait are put back at the end.
    let left = Math.min(countMax, waiting.size)
    for (const each of waiting) {
      if (left-- === 0) break
      waiting.delete(each)
      if (isTaken(each)) each.release()
      else waiting.add(each)
    }
  }

  /** Counts the answers that were made before the last look and still wait. */
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
    /** Throws `unavailable` where a caller has as much waiting as it may. */
    assertRoom(visit: Visit): void {
      if (places.total() === 0) return
      const wanted = wantedBy(holderOf(visit), 1)
      if (places.wouldRefuse(wanted) === undefined) return
      releaseTaken(waiting.size)
      const refused = places.wouldRefuse(wanted)
      if (refused !== undefined) throw unreadError(refused)
    },

    /**
     * To be called before an answer is handed on. Throws `unavailable` where there is no room, but
     * not of what is `paidFor` by itself, which is counted all the same.
     */
    hold(sent: Sent, paidFor = false): void {
      const { bytes, peers } = sent
      // Of a request that came by another one, there is no connection to ask.
      if (bytes < SMALL_BYTES || peers.timeout === undefined) return
      if (bytes < LARGE_BYTES || paidFor) addUncounted(sent)
      else {
        const release = take(holderBy(sent), bytes)
        if (typeof release === 'string') throw unreadError(release)
        peers.timeout(sent.request, IDLE_SECONDS)
        waiting.add({ ...sent, release })
      }
      watch()
    },

    /** Counts what waits on a connection that is no request; returns as `ConcurrencyLimit` does. */
    take,

    /** Bytes that wait, by all. */
    total: places.total,
  }
}

const NOBODY: Holder = { owner: '', level: 0 }

const unreadError = (refused: Refused): AppError =>
  new AppError(
    'unavailable',
    refused === 'all'
      ? 'The server holds too many responses that were not read. Try again in a moment.'
      : 'Your connections have not read earlier responses. Read them, then repeat the request.',
    { retryAfterSeconds: RETRY_SECONDS },
  )
