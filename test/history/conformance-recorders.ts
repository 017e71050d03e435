/** The conformance suite's part on the signs of life of recorders. */
import { describe, expect, test } from 'bun:test'

import type { RecorderSign } from '#src/domain/recorder-sign.ts'

import { START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const sign = (changes: Partial<RecorderSign> = {}): RecorderSign => ({
  id: 'a',
  name: 'one.example',
  coins: ['btc', 'eth'],
  timeframes: ['5m', '15m'],
  startedMs: START_MS,
  signMs: START_MS,
  ...changes,
})

export function conformRecorders(use: Use): void {
  describe('putRecorder', () => {
    test(
      'default: the last sign of each is known, until it ends in order',
      use(async (history) => {
        expect(history.recorders()).toEqual([])
        await history.putRecorder(sign())
        await history.putRecorder(sign({ id: 'b', coins: ['sol'] }))
        await history.putRecorder(sign({ signMs: START_MS + 2000 }))
        expect(history.recorders()).toEqual([
          sign({ signMs: START_MS + 2000 }),
          sign({ id: 'b', coins: ['sol'] }),
        ])
        await history.endRecorder('a')
        await history.endRecorder('a')
        expect(history.recorders().map(({ id }) => id)).toEqual(['b'])
      }),
    )

    test(
      'behavior: one that died is forgotten once another records its markets',
      use(async (history) => {
        await history.putRecorder(sign())
        const later = { startedMs: START_MS + 1000, signMs: START_MS + 61_000 }
        const ids = () => history.recorders().map(({ id }) => id)
        await history.putRecorder(sign({ id: 'b', coins: ['btc'], ...later }))
        await history.putRecorder(sign({ id: 'c', timeframes: ['5m'], ...later }))
        expect(ids()).toEqual(['a', 'b', 'c'])
        const all = sign({ id: 'd', coins: ['eth', 'btc', 'sol'], ...later })
        await history.putRecorder({ ...all, signMs: START_MS + 60_000 })
        expect(ids()).toEqual(['a', 'b', 'c', 'd'])
        await history.putRecorder(all)
        expect(ids()).toEqual(['b', 'c', 'd'])
      }),
    )
  })
}
