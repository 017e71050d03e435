/** The ledger's conformance suite on challenges and kept answers. */
import { describe, expect, test } from 'bun:test'

import type { UseLedger } from './ledger-conformance.ts'
import { DAY_MS, deedsOf, NOW_MS } from './ledger-records.ts'

export function conformRequests(use: UseLedger): void {
  describe('challengeKey', () => {
    test(
      'default: is 32 bytes that stay',
      use((ledger) => {
        expect(ledger.challengeKey.length).toBe(32)
        expect(new Set(ledger.challengeKey).size).toBeGreaterThan(8)
        expect(ledger.challengeKey).toEqual(ledger.challengeKey)
      }),
    )
  })
  describe('putAnswer', () => {
    conformAnswers(use)
  })
}

function conformAnswers(use: UseLedger): void {
  const answer = { id: 'id', fingerprint: 'print', sealed: Uint8Array.of(0, 255, 7) }

  test(
    'default: gives back what was kept, byte by byte, for less than a day',
    use(async (ledger) => {
      const revision = ledger.revision()
      await ledger.putAnswer(answer, NOW_MS)
      expect(ledger.findAnswer('id', NOW_MS)).toEqual(answer)
      expect(ledger.findAnswer('id', NOW_MS + DAY_MS - 1)).toEqual(answer)
      expect(ledger.findAnswer('id', NOW_MS + DAY_MS)).toBeUndefined()
      expect(ledger.findAnswer('other', NOW_MS)).toBeUndefined()
      expect([ledger.revision(), deedsOf(ledger)]).toEqual([revision, []])
    }),
  )

  test(
    'behavior: a new answer makes those older than a day vanish for good, and may take their place',
    use(async (ledger) => {
      await ledger.putAnswer(answer, NOW_MS)
      await ledger.putAnswer({ ...answer, id: 'kept' }, NOW_MS + 1)
      await ledger.putAnswer({ ...answer, id: 'new' }, NOW_MS + DAY_MS)
      expect(ledger.findAnswer('id', NOW_MS)).toBeUndefined()
      expect(ledger.findAnswer('kept', NOW_MS)).toBeDefined()
      await ledger.putAnswer({ ...answer, fingerprint: 'another' }, NOW_MS + DAY_MS)
      expect(ledger.findAnswer('id', NOW_MS + DAY_MS)?.fingerprint).toBe('another')
    }),
  )

  test(
    'behavior: of two answers under one id the first is kept, and returned',
    use(async (ledger) => {
      expect(await ledger.putAnswer(answer, NOW_MS)).toEqual(answer)
      const second = { ...answer, sealed: Uint8Array.of(1) }
      expect(await ledger.putAnswer(second, NOW_MS + 1)).toEqual(answer)
      expect(ledger.findAnswer('id', NOW_MS)).toEqual(answer)
    }),
  )
}
