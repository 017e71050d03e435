import { describe, expect, test } from 'bun:test'

import { openLedger } from '#src/ledger/open.ts'

import { lostKeys } from './key-load.ts'

describe('lostKeys', () => {
  // Clocks that differ by two milliseconds: revoked a millisecond after its acknowledgement.
  const events = [
    { atMs: 102, key: 'key', state: 'made' as const },
    { atMs: 99, key: 'key', state: 'revoking' as const },
    { atMs: 112, key: 'key', state: 'revoked' as const },
  ]

  test.each([
    [98, []],
    [101, []],
    [102, ['key']],
    [112, ['key']],
  ])('behavior: by %d, those that were acknowledged by then', (byMs, lost) => {
    const ledger = openLedger(':memory:', { nowMs: 0 })
    expect(lostKeys(ledger, { events }, byMs).map(([key]) => key)).toEqual(lost)
    ledger.dispose()
  })
})
