import { describe, expect, test } from 'bun:test'

import { isRestart } from '#src/venue/polymarket/restart.ts'

const span = (from: string, to: string) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) })

describe('isRestart', () => {
  test.each([
    // Standard time, and daylight saving time.
    ['2026-11-24T11:59:58.500Z', '2026-11-24T12:01:31Z', true],
    ['2026-07-21T10:59:58.500Z', '2026-07-21T11:01:31Z', true],
    ['2026-11-24T12:02:59Z', '2026-11-24T12:03:20Z', true],
    ['2026-11-24T12:03:00Z', '2026-11-24T12:03:20Z', false],
    ['2026-11-24T11:59:10Z', '2026-11-24T12:00:00Z', false],
    ['2026-11-24T11:40:00Z', '2026-11-24T12:30:00Z', false],
    ['2026-11-24T10:59:58Z', '2026-11-24T11:01:31Z', false],
    ['2026-07-21T11:59:58Z', '2026-07-21T12:01:31Z', false],
    ['2026-11-25T11:59:58Z', '2026-11-25T12:01:31Z', false],
  ])('default: from %s to %s: %p', (from, to, is) => {
    expect(isRestart(span(from, to))).toBe(is)
  })
})
