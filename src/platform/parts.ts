/** A byte cache in a few large blocks of memory. */
import type { CacheCounts } from './cache.ts'
import { release } from './release.ts'

/** Views of one block of memory, created once. */
export type Memory = {
  bytes: Uint8Array
  words: Int32Array
  view: DataView
  /** True if the bytes belong to the holder alone, so that it may release them. */
  isOwn: boolean
}

/** `length` bytes of a block from `start`, which is a multiple of 8. */
export type Part = { memory: Memory; start: number; length: number }

const ALIGNMENT = 8
const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/** A part that covers all bytes; copied if they are not aligned. */
export function partOf(given: Uint8Array): Part {
  const bytes = given.byteOffset % ALIGNMENT === 0 ? given : given.slice()
  const { buffer, byteOffset, length } = bytes
  const words = new Int32Array(buffer, byteOffset, length >>> 2)
  const view = new DataView(buffer, byteOffset, length)
  return { memory: { bytes, words, view, isOwn: true }, start: 0, length }
}

/** Releases memory that belongs to the holder. */
export function releaseOwn({ bytes, isOwn }: Memory): void {
  if (isOwn) release(bytes)
}

/** A value that can be stored in a part of memory. */
export type Movable<T> = {
  /** Size in bytes. */
  readonly size: number
  /** Copies the value to another part of `size` bytes. */
  copyTo: (part: Part) => T
  /** Releases the value, which must not be read afterwards. */
  release: () => void
}

type Entry<Value> = { key: number; value: Value; isUsed: boolean }
type Segment<Value> = { memory: Memory; filled: number; entries: Entry<Value>[] }

const SEGMENT_BYTES_MAX = 2 ** 20
const SEGMENTS_LEAST = 8
/** Share of the budget left for the entries' objects: some 400 bytes per chunk of 14,000. */
const SHARE_OF_OBJECTS = 1 / 32
/** Share of segments that are kept empty, for the values of one round of the event loop. */
const SHARE_OF_EMPTY = 1 / 32

/**
 * Segments that are filled one after the other. The oldest is emptied before its space is needed:
 * its entries are passed to `onEmpty`, and in the next round of the event loop to `onGone`, after
 * which the segment is filled again. Until then its contents can be read.
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
  /** Number of segments that will be empty in the next round. */
  let leaving = 0
  /** Oldest first. */
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

  /** Moves to the next segment; false if there is none in this round. */
  function nextSegment(): boolean {
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

    /** Reserves `size` bytes; undefined if there is no room in this round, or ever. */
    place(size: number): { entries: Entry<Value>[]; part: Part } | undefined {
      if (size > segmentBytes) return undefined
      // Entries that moved out of the oldest segment may have filled the next one.
      while (current === undefined || current.filled + size > segmentBytes)
        if (!nextSegment()) return undefined
      const part = { memory: current.memory, start: current.filled, length: size }
      current.filled += aligned(size)
      return { entries: current.entries, part }
    },
  }
}

/**
 * A cache of at most `bytesMax` bytes, whose values have at most 1 MiB or an eighth of the total.
 * Values are copied into large segments, so that the garbage collector sees few objects however
 * many values come and go. Eviction is a log-structured CLOCK: when the oldest segment is emptied,
 * the entries used since they were written move on, up to half a segment. Results of `get` and
 * `put` may be read only in the same round of the event loop. Values that exceed the room of one
 * round are not cached.
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

    /** Like `get`, but does not count as a use. */
    peek: (key: number): Value | undefined => entries.get(key)?.value,

    /** Stores a copy and releases the value: now, or after this round if it is returned itself. */
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
