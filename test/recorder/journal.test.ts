import { describe, expect, test } from 'bun:test'

import type { Following } from '#src/recorder/following.ts'
import { createJournal } from '#src/recorder/journal.ts'

/** What waits until a moment. */
function createWaiting(name: string, untilMs: number, ended: string[]): Following {
  let isOver = false
  return {
    follows: new Map(),
    heardMs: () => 0,
    take: () => true,
    settle(nowMs) {
      if (isOver || nowMs < untilMs) return
      isOver = true
      ended.push(`${name} ${nowMs}`)
    },
    end() {},
  }
}

describe('createJournal', () => {
  /** Settles at these times, after two connections that wait till 1200 and 1100. */
  function endedBy(timesMs: readonly number[]): string[] {
    const ended: string[] = []
    const journal = createJournal()
    journal.begin(createWaiting('first', 1200, ended), 1000)
    journal.begin(createWaiting('second', 1100, ended), 1000)
    for (const timeMs of timesMs) journal.settle(timeMs)
    return ended
  }

  test.each([
    ['every millisecond', Array.from({ length: 9000 }, (_, at) => 1001 + at)],
    ['now and then', [1150, 1900, 10_000]],
    ['after a short silence', [3999]],
    ['after a silence longer than anything waits', [10_000]],
  ])('behavior: what waits ends in the order of time: looked at %s', (_, timesMs) => {
    expect(endedBy(timesMs)).toEqual(['second 1100', 'first 1200'])
  })
})
