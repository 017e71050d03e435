/** Bytes that are kept in parts of a few large pieces of memory. */
import type { CacheCounts } from './cache.ts'
import { release } from './release.ts'

/** Views of one piece of memory, made once. */
export type Memory = {
  bytes: Uint8Array
  words: Int32Array
  view: DataView
  /** From bytes that the caller does not use again. */
  isOwn: boolean
}

/** `length` bytes of a piece of memory from `start` on, a multiple of 8. */
export type Part = { memory: Memory; start: number; length: number }

const ALIGNMENT = 8
const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/** The whole of bytes, copied where they do not begin at a word. */
export function partOf(given: Uint8Array): Part {
  const bytes = given.byteOffset % ALIGNMENT === 0 ? given : given.slice()
  const { buffer, byteOffset, length } = bytes
  const words = new Int32Array(buffer, byteOffset, length >>> 2)
  const view = new DataView(buffer, byteOffset, length)
  return { memory: { bytes, words, view, isOwn: true }, start: 0, length }
}

/** Gives memory back that is its holder's own. */
export function releaseOwn({ bytes, isOwn }: Memory): void {
  if (isOwn) release(bytes)
}

/** What can be kept in a part of memory. */
export type Movable<T> = {
  /** Bytes that it needs. */
  readonly size: number
  /** The same in another part, of `size` bytes. */
  copyTo: (part: Part) => T
  /** Nothing of it may be read any more. */
  release: () => void
}

type Entry<Value> = { key: number; value: Value; isUsed: boolean }
type Segment<Value> = { memory: Memory; filled: number; entries: Entry<Value>[] }

const SEGMENT_BYTES_MAX = 2 ** 20
const SEGMENTS_LEAST = 8
/** What is left for the objects of entries: some 400 bytes of each, where a chunk has 14,000. */
const SHARE_OF_OBJECTS = 1 / 32
/** Of all segments those that are empty, for what comes in one round. */
const SHARE_OF_EMPTY = 1 / 32

/**
 * Segments that are filled one after the other. The oldest one is emptied before its place is
 * needed: `onEmpty` is given its entries, and `onGone` in the next round of the event loop, after
 * which it is filled again. Until then all that was in it can be read.
 */
function createSegments<Value>(
  bytesMax: number,
  on: Record<'empty' | 'gone', (entries: readonly Entry<Value>[]) => void>,
) {
  const segmentBytes = Math.min(
    SEGMENT_BYTES_MAX,
    Math.floor(bytesMax / SEGMENTS_LEAST / ALIGNMENT) * ALIGNMENT,
  )
  const countMax = Math.floor((bytesMax / segmentBytes) * (1 - SHARE_OF_OBJECTS))
  const emptyLeast = Math.max(1, Math.floor(countMax * SHARE_OF_EMPTY))
  const empty: Segment<Value>[] = []
  /** To be empty in the next round. */
  let leaving = 0
  /** The oldest first. */
  const full: Segment<Value>[] = []
  let count = 0
  let current: Segment<Value> | undefined

  function make(): Segment<Value> | undefined {
    if (count === countMax) return undefined
    count++
    const { memory } = partOf(new Uint8Array(segmentBytes))
    return { memory: { ...memory, isOwn: false }, filled: 0, entries: [] }
  }

  function emptyOldest(): void {
    const oldest = full.shift()
    if (oldest === undefined) return
    leaving++
    on.empty(oldest.entries)
    setImmediate(() => {
      leaving--
      on.gone(oldest.entries)
      empty.push({ ...oldest, filled: 0, entries: [] })
    })
  }

  /** Whether there is a next segment in this round. */
  function goOn(): boolean {
    const next = make() ?? empty.pop()
    if (next === undefined) return false
    if (current !== undefined) full.push(current)
    current = next
    while (count === countMax && full.length > 0 && empty.length + leaving < emptyLeast)
      emptyOldest()
    return true
  }

  return {
    segmentBytes,

    /** Room for `size` bytes; undefined where there is none in this round, or never. */
    place(size: number): { entries: Entry<Value>[]; part: Part } | undefined {
      if (size > segmentBytes) return undefined
      // What moved on may have filled the next one.
      while (current === undefined || current.filled + size > segmentBytes)
        if (!goOn()) return undefined
      const part = { memory: current.memory, start: current.filled, length: size }
      current.filled += aligned(size)
      return { entries: current.entries, part }
    },
  }
}

/**
 * A cache of at most `bytesMax` bytes, none of a value larger than 1 MiB or an eighth of the whole.
 * Values are copied into large segments, so that the collector has few objects to look at however
 * many values come and go. Of the oldest segment those move on that were used since they came into
 * it, half of a segment at most (a log-structured CLOCK). What `get` and `put` return may be read
 * in the same round of the event loop only. Where more comes in one round than there is room for,
 * it is not kept.
 */
export function createPartCache<Value extends Movable<Value>>(bytesMax: number) {
  const entries = new Map<number, Entry<Value>>()
  const counts = { bytes: 0, hits: 0, misses: 0 }
  const segments = createSegments<Value>(bytesMax, {
    empty: moveOn,
    gone(left) {
      for (const { value } of left) value.release()
    },
  })

  function moveOn(oldest: readonly Entry<Value>[]): void {
    let moved = 0
    for (const entry of oldest) {
      const { key, value, isUsed } = entry
      if (entries.get(key) !== entry) continue
      remove(key)
      if (!isUsed || moved + value.size > segments.segmentBytes / 2) continue
      moved += aligned(value.size)
      keep(key, value)
    }
  }

  function keep(key: number, value: Value): Value | undefined {
    const room = segments.place(value.size)
    if (room === undefined) return undefined
    const entry = { key, value: value.copyTo(room.part), isUsed: false }
    room.entries.push(entry)
    entries.set(key, entry)
    counts.bytes += value.size
    return entry.value
  }

  function remove(key: number): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    counts.bytes -= entry.value.size
  }

  return {
    get(key: number): Value | undefined {
      const entry = entries.get(key)
      if (entry === undefined) counts.misses++
      else {
        counts.hits++
        entry.isUsed = true
      }
      return entry?.value
    },

    /** As `get`, but no use. */
    peek: (key: number): Value | undefined => entries.get(key)?.value,

    /** Keeps a copy, and releases the value: at once, or after this round where it is returned. */
    put(key: number, value: Value): Value {
      remove(key)
      const kept = keep(key, value)
      if (kept === undefined) setImmediate(() => value.release())
      else value.release()
      return kept ?? value
    },

    delete: remove,
    counts: (): CacheCounts => ({ ...counts }),
  }
}
