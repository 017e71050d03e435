import { describe, expect, test } from 'bun:test'

import { standingAt, type Subscription } from '#src/domain/selling/subscription.ts'
import { defaultTiers, FREE_TIER_ID, type Tier } from '#src/domain/selling/tier.ts'

const tierOf = (tierId: string): Tier | undefined =>
  defaultTiers.find((tier) => tier.tierId === tierId)

let made = 0
const aSubscription = (
  tierId: string,
  startMs: number,
  changes: Partial<Subscription> = {},
): Subscription => ({
  id: `sub_${++made}`,
  accountId: 'acc_1',
  tierId,
  startMs,
  createdMs: 0,
  ...changes,
})

/** The tier and the end of the standing at some moments. */
const courseOf = (subscriptions: Subscription[], moments: number[]) =>
  moments.map((nowMs) => {
    const { terms, untilMs } = standingAt(subscriptions, defaultTiers, nowMs)
    return [nowMs, terms.tierId, untilMs]
  })

describe('standingAt', () => {
  test('default: without a subscription it is Free for ever, as the catalogue has it', () => {
    const standing = standingAt([], defaultTiers, 0)
    expect(standing.terms).toBe(defaultTiers[0] as Tier)
    expect(standing.subscription).toBeUndefined()
    expect(standing.untilMs).toBe(Infinity)
  })

  test('behavior: the start is inclusive, the end exclusive, and each ends a standing', () => {
    const subscription = aSubscription('pro', 100, { endMs: 200 })
    expect(courseOf([subscription], [99, 100, 199, 200])).toEqual([
      [99, 'free', 100],
      [100, 'pro', 200],
      [199, 'pro', 200],
      [200, 'free', Infinity],
    ])
    expect(standingAt([subscription], defaultTiers, 100).subscription).toBe(subscription)
    expect(standingAt([subscription], defaultTiers, 200).subscription).toBeUndefined()
  })

  test('behavior: one without an end runs for ever', () => {
    const granted = aSubscription('pro', 100)
    expect(courseOf([granted], [1e15])).toEqual([[1e15, 'pro', Infinity]])
  })

  test('behavior: where they overlap the highest holds, whatever their order, and the others go on after it', () => {
    const subscriptions = [
      aSubscription('starter', 0, { endMs: 500 }),
      aSubscription('enterprise', 200, { endMs: 300 }),
      aSubscription('pro', 100, { endMs: 400 }),
    ]
    for (const order of [subscriptions, subscriptions.toReversed()]) {
      expect(courseOf(order, [0, 100, 200, 300, 400, 500])).toEqual([
        [0, 'starter', 100],
        [100, 'pro', 200],
        [200, 'enterprise', 300],
        [300, 'pro', 400],
        [400, 'starter', 500],
        [500, 'free', Infinity],
      ])
    }
  })

  test('behavior: one period right behind another leaves no gap', () => {
    const periods = [
      aSubscription('pro', 0, { endMs: 100 }),
      aSubscription('pro', 100, { endMs: 200 }),
    ]
    expect(courseOf(periods, [99, 100])).toEqual([
      [99, 'pro', 100],
      [100, 'pro', 200],
    ])
  })

  test('behavior: what was bought holds whatever becomes of the catalogue; a grant follows it', () => {
    const terms = { ...defaultTiers[2], tierId: 'pro', requestsPerMinute: 299 } as Tier
    const bought = aSubscription('pro', 0, { terms })
    const granted = aSubscription('pro', 0)
    const live = defaultTiers.map((tier) =>
      tier.tierId === 'pro' ? { ...tier, requestsPerMinute: 7 } : tier,
    )
    const without = live.filter(({ tierId }) => tierId !== 'pro')
    const rates = [bought, granted].map((subscription) =>
      [live, without].map((tiers) => standingAt([subscription], tiers, 1).terms.requestsPerMinute),
    )
    expect(rates).toEqual([
      [299, 299],
      [7, tierOf('free')?.requestsPerMinute ?? 0],
    ])
  })

  test('behavior: the rank that was bought counts, not the live one', () => {
    const terms = { ...defaultTiers[1], tierId: 'starter', rank: 10 } as Tier
    const bought = aSubscription('starter', 0, { terms })
    const standing = standingAt([bought, aSubscription('enterprise', 0)], defaultTiers, 1)
    expect(standing.subscription).toBe(bought)
  })

  test('behavior: a bound of another subscription ends the certainty, even of a lower or unknown tier', () => {
    const subscriptions = [
      aSubscription('gone', 20, { endMs: 90 }),
      aSubscription('pro', 0),
      aSubscription('starter', 50, { endMs: 60 }),
    ]
    expect(courseOf(subscriptions, [0, 20, 50, 60, 90])).toEqual([
      [0, 'pro', 20],
      [20, 'pro', 50],
      [50, 'pro', 60],
      [60, 'pro', 90],
      [90, 'pro', Infinity],
    ])
  })

  test('error: refuses a catalogue without the Free tier', () => {
    const paid = defaultTiers.filter(({ tierId }) => tierId !== FREE_TIER_ID)
    expect(() => standingAt([], paid, 0)).toThrow('no Free tier')
  })
})
