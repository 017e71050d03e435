import { describe, expect, test } from 'bun:test'

import { chainStateOf } from '#src/domain/trade-chain.ts'

import { NOW_MS } from '../support/now.ts'

const DAY_MS = 86_400_000
const transactionHash = `0x${'ab'.repeat(32)}`
const aTrade = (ageMs: number) => ({
  timestampMs: NOW_MS - ageMs,
  price: 500_000,
  transactionHash,
})

describe('chainStateOf', () => {
  const stateOf = (ageMs: number, isSuccess?: boolean) =>
    chainStateOf(aTrade(ageMs), isSuccess === undefined ? undefined : { isSuccess }, NOW_MS)

  test('default: a receipt decides, however old the trade is', () => {
    for (const ageMs of [-1000, 0, DAY_MS, 9 * DAY_MS]) {
      expect(stateOf(ageMs, true)).toBe('confirmed')
      expect(stateOf(ageMs, false)).toBe('failed')
    }
  })

  test('behavior: without one a trade is pending for a day, then unknown', () => {
    for (const ageMs of [-1000, 0, DAY_MS - 1]) expect(stateOf(ageMs)).toBe('pending')
    for (const ageMs of [DAY_MS, 9 * DAY_MS]) expect(stateOf(ageMs)).toBe('unknown')
  })

  test('behavior: a trade without a transaction is unknown', () => {
    const { transactionHash: _, ...trade } = aTrade(0)
    expect(chainStateOf(trade, undefined, NOW_MS)).toBe('unknown')
  })
})
