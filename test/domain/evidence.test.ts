import { describe, expect, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'
import { gapsOf, noEvidence, type Statement, withStatements } from '#src/domain/evidence.ts'
import { createRandom } from '#src/platform/random.ts'

const QUIET_MS = 5000

const gapsAfter = (statements: readonly Statement[], verifiedMs: readonly number[] = []) =>
  gapsOf(withStatements(noEvidence, statements, QUIET_MS), QUIET_MS, ({ fromMs, toMs }) =>
    verifiedMs.some((timeMs) => timeMs >= fromMs && timeMs < toMs),
  )

const missed = (fromMs: number, toMs: number): Statement => ({
  kind: 'missed',
  fromMs,
  toMs,
  reason: 'hash_mismatch',
})
const said = (
  kind: 'known' | 'checked' | 'followed' | 'away' | 'unproved',
  fromMs: number,
  toMs: number,
): Statement => ({ kind, fromMs, toMs })

describe('gapsOf', () => {
  test('default: a time that one source knows is no gap of another', () => {
    expect(gapsAfter([said('away', 0, 100), said('known', 30, 60)])).toEqual([
      { fromMs: 0, toMs: 30, reason: 'recorder_down' },
      { fromMs: 60, toMs: 100, reason: 'recorder_down' },
    ])
  })

  test('behavior: verified books around a gap that was seen do not fill it, and one within does', () => {
    const statements = [missed(100, 900), said('checked', 0, 1), said('checked', 1000, 1001)]
    expect(gapsAfter(statements, [0, 1000])).toEqual([
      { fromMs: 100, toMs: 900, reason: 'hash_mismatch' },
    ])
    expect(gapsAfter([...statements, said('checked', 500, 501)], [0, 500, 1000])).toEqual([])
  })

  test('behavior: where nobody listened, books around it fill it, unless their pause is long', () => {
    const around = (toMs: number) => [
      said('away', 1, toMs),
      said('checked', 0, 1),
      said('followed', toMs, toMs + 1),
    ]
    expect(gapsAfter(around(QUIET_MS))).toEqual([])
    expect(gapsAfter(around(QUIET_MS + 1))).toHaveLength(1)
  })

  test('behavior: messages that are cut at an unproved change leave the gap of uncut ones', () => {
    const both = [said('followed', 0, 101), said('followed', 300, 900)]
    const whole = [...both, missed(101, 300)]
    const after = [...both, missed(101, ENDLESS_MS)]
    const before = [...both, said('unproved', 150, 300)]
    const gap = { fromMs: 101, toMs: 300, reason: 'hash_mismatch' } as const
    for (const statements of [whole, after, before]) {
      expect(gapsAfter(statements)).toEqual([gap])
      // Another source that has the book from within the gap on, or for a while.
      expect(gapsAfter([...statements, said('known', 150, 2000)])).toEqual([{ ...gap, toMs: 150 }])
      expect(gapsAfter([...statements, said('known', 160, 170)])).toEqual([
        { ...gap, toMs: 160 },
        { ...gap, fromMs: 170 },
      ])
    }
  })

  test('property: statements in any order, in parts and again give the same evidence', () => {
    const random = createRandom('evidence')
    const kinds = ['known', 'checked', 'followed', 'away', 'unproved'] as const
    for (let round = 0; round < 200; round++) {
      const statements = Array.from({ length: 12 }, (): Statement => {
        const fromMs = random.integer(40_000)
        const toMs = random.integer(8) === 0 ? ENDLESS_MS : fromMs + random.integer(9000)
        return random.integer(3) === 0
          ? {
              kind: 'missed',
              fromMs,
              toMs,
              reason: random.pick(['hash_mismatch', 'recorder_down']),
            }
          : { kind: random.pick(kinds), fromMs, toMs }
      })
      const reference = withStatements(noEvidence, statements, QUIET_MS)
      const shuffled = statements
        .map((each) => ({ each, key: random.uniform() }))
        .sort((a, b) => a.key - b.key)
        .map(({ each }) => each)
      let joined = noEvidence
      for (const each of [...shuffled, ...shuffled.slice(4)])
        joined = withStatements(joined, [each], QUIET_MS)
      expect(joined).toEqual(reference)
    }
  })
})
