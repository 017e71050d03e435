import { describe, expect, test } from 'bun:test'

import { startStream } from '#src/server/streams.ts'

describe('startStream', () => {
  test('behavior: what is left is handed on in the next turns of the event loop, not later', async () => {
    const done = Promise.withResolvers<void>()
    const seen: number[] = []
    let turn = 0
    let next = setImmediate(function count() {
      turn++
      next = setImmediate(count)
    })
    const tick = () => {
      seen.push(turn)
      if (seen.length === 6) done.resolve()
      return seen.length < 5
    }
    const job = startStream({ tick })
    await done.promise
    job.dispose()
    clearImmediate(next)
    const pauses = seen.slice(1).map((each, index) => each - (seen[index] ?? 0))
    // Requests come in between; after the last of it a timer is waited for, which takes many turns.
    expect(pauses.slice(0, 4)).toEqual([1, 1, 1, 1])
    expect(pauses[4]).toBeGreaterThan(1)
  })
})
