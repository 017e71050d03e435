import { describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'
import { createMerge } from '#src/recorder/merge.ts'

import { aSnapshot } from '../history/books.ts'

const at = (timestampMs: number, size = timestampMs): Snapshot =>
  aSnapshot({ timestampMs }, 1_000_000 + size)

function start(heldMs?: number) {
  const heard: unknown[] = []
  /** Times in which the book was known without a break. */
  const known: [fromMs: number, toMs: number][] = []
  let isOpen = false
  const merge = createMerge(
    {
      state({ timestampMs }, knownFromMs) {
        heard.push(timestampMs)
        if (knownFromMs !== undefined && knownFromMs < timestampMs)
          known.push([knownFromMs, timestampMs])
      },
      gapOpened(fromMs, reason) {
        isOpen = true
        heard.push({ fromMs, reason })
      },
      gapEnded(fromMs, atMs, reason) {
        heard.push(isOpen ? { atMs } : { fromMs, toMs: atMs, reason })
        isOpen = false
      },
      gapFound: (fromMs, toMs, reason) => heard.push({ fromMs, toMs, reason }),
      known: (fromMs, toMs) => known.push([fromMs, toMs]),
    },
    { heldMs, windowStartMs: 10 },
  )
  // What is said before anything is heard.
  const begun = heard.splice(0)
  return { merge, heard, begun, known }
}

const one = { name: 'one' }
const two = { name: 'two' }

describe('createMerge', () => {
  test('default: states of one source come through in order, older ones do not', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    for (const timeMs of [10, 15, 20, 15, 20]) merge.state(one, at(timeMs))
    expect(heard).toEqual([{ atMs: 10 }, 10, 15, 20, 20])
  })

  test('behavior: what of two passes of the clock is not put out is a gap, up to a later state', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    merge.state(one, at(10))
    merge.state(one, at(100))
    merge.lost(one, 'recorder_down')
    heard.splice(0)
    merge.found(two, 70)
    for (const timeMs of [70, 90, 120]) merge.state(two, at(timeMs))
    expect(heard).toEqual([
      { atMs: 70 },
      { fromMs: 70, toMs: 100, reason: 'recorder_down' },
      { fromMs: 101, reason: 'recorder_down' },
      { atMs: 120 },
      120,
    ])
  })

  test('behavior: it began as long before as nothing was heard', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    merge.state(one, { ...at(100), receivedMs: 105 })
    merge.lost(one, 'recorder_down')
    heard.splice(0)
    merge.found(two, 70)
    merge.state(two, { ...at(70), receivedMs: 125 })
    expect(heard[1]).toEqual({ fromMs: 50, toMs: 100, reason: 'recorder_down' })
  })

  test('behavior: what follows a state that is held is a gap until the book is known', () => {
    const { merge, heard, begun } = start(5)
    merge.found(one, 30)
    merge.state(one, at(30))
    expect([...begun, ...heard]).toEqual([{ fromMs: 6, reason: 'recorder_down' }, { atMs: 30 }, 30])
  })

  test('behavior: without one, so is what follows the start of the window', () => {
    const { merge, heard, begun } = start()
    merge.found(one, 30)
    merge.state(one, at(30))
    expect([...begun, ...heard]).toEqual([
      { fromMs: 10, reason: 'recorder_down' },
      { atMs: 30 },
      30,
    ])
  })

  test('behavior: a source that is lost leaves a gap only where no other has the book', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    merge.state(one, at(10))
    merge.found(two, 10)
    merge.state(two, at(10))
    merge.state(two, at(12))
    merge.lost(one, 'recorder_down')
    merge.state(two, at(14))
    merge.lost(two, 'hash_mismatch')
    expect(merge.isKnown).toBe(false)
    merge.found(one, 20)
    expect(heard.slice(1)).toEqual([
      10,
      10,
      12,
      14,
      { fromMs: 15, reason: 'hash_mismatch' },
      { atMs: 20 },
    ])
  })

  test('behavior: a hand-over to a source that began later shows what both missed', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    merge.state(one, at(10))
    merge.found(two, 40)
    merge.state(two, at(40))
    merge.lost(one, 'venue_silent')
    expect(heard.slice(1)).toEqual([10, { fromMs: 11, toMs: 40, reason: 'venue_silent' }, 40])
  })

  test('behavior: the same book at a later time was not missed', () => {
    const { merge, heard } = start()
    merge.found(one, 10)
    merge.state(one, at(10, 1))
    merge.found(two, 40)
    merge.state(two, at(40, 1))
    merge.lost(one, 'venue_silent')
    expect(heard.slice(1)).toEqual([10, 40])
  })

  test('behavior: the book is known from state to state, but for gaps, and to the end of its market', () => {
    const { merge, known } = start()
    merge.found(one, 10)
    for (const timeMs of [10, 15, 20]) merge.state(one, at(timeMs))
    merge.lost(one, 'recorder_down')
    merge.found(two, 30)
    merge.state(two, at(30))
    merge.missed(two, { outcome: 'up', fromMs: 32, toMs: 36, reason: 'recorder_down' })
    merge.state(two, at(40))
    merge.finish(50)
    expect(known).toEqual([
      [10, 15],
      [15, 20],
      [36, 40],
      [40, 50],
    ])
  })

  test('behavior: a market that is over ends its gap', () => {
    const { merge, heard } = start(5)
    merge.finish(100)
    merge.finish(100)
    expect(heard).toEqual([{ atMs: 100 }])
  })
})
