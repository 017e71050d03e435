import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { coins } from '#src/domain/market.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { type TierBody, TierList } from '#src/features/billing/schema.ts'
import { openLedger } from '#src/ledger/open.ts'

import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

const { sendAs, ledger } = createHarness()

async function readTiers(): Promise<TierBody[]> {
  const response = await sendAs(undefined, '/v1/billing/tiers')
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(TierList, body)]).toEqual([200])
  expect(response.headers.get('cache-control')).toBe('no-cache')
  return body as TierBody[]
}

describe('GET /v1/billing/tiers', () => {
  test.each(['failing', 'paused'] as const)(
    'behavior: while sales are %s, tiers for sale are listed, and say since when only if paused',
    async (state) => {
      const sales = () => ({ state, sinceMs: NOW_MS, faults: [] })
      const server = createHarness({ billing: fakeBilling({ sales }) })
      const tiers = (await (await server.send('/v1/billing/tiers')).json()) as TierBody[]
      const since = state === 'paused' ? new Date(NOW_MS).toISOString() : null
      expect(
        tiers
          .slice(0, 4)
          .map(({ tierId, isForSale, pausedSince }) => [tierId, isForSale, pausedSince]),
      ).toEqual([
        ['free', false, null],
        ['starter', true, since],
        ['pro', true, since],
        ['enterprise', false, null],
      ])
    },
  )

  test('default: the catalogue, lowest first, without a key', async () => {
    const tiers = await readTiers()
    expect(tiers.slice(0, 4)).toEqual([
      {
        id: 'free',
        tierId: 'free',
        name: 'Free',
        coins: ['btc'],
        routes: ['markets', 'prices'],
        requestsPerMinute: 10,
        concurrentStreams: 1,
        priceUsdc: '0',
        periodDays: null,
        isForSale: false,
        contact: null,
        pausedSince: null,
      },
      {
        id: 'starter',
        tierId: 'starter',
        name: 'Starter',
        coins: ['btc', 'eth'],
        routes: ['markets', 'prices', 'snapshots', 'quotes'],
        requestsPerMinute: 60,
        concurrentStreams: 2,
        priceUsdc: '19',
        periodDays: 30,
        isForSale: true,
        contact: null,
        pausedSince: null,
      },
      {
        id: 'pro',
        tierId: 'pro',
        name: 'Pro',
        coins,
        routes: ['markets', 'prices', 'snapshots', 'quotes'],
        requestsPerMinute: 300,
        concurrentStreams: 4,
        priceUsdc: '49',
        periodDays: 30,
        isForSale: true,
        contact: null,
        pausedSince: null,
      },
      {
        id: 'enterprise',
        tierId: 'enterprise',
        name: 'Enterprise',
        coins,
        routes: ['markets', 'prices', 'snapshots', 'quotes'],
        requestsPerMinute: 1000,
        concurrentStreams: 16,
        priceUsdc: null,
        periodDays: null,
        isForSale: false,
        contact: 'Ask the operator of this server.',
        pausedSince: null,
      },
    ])
  })

  test('behavior: a change of the operator shows at the next request, in its place', async () => {
    const by = { actor: 'operator', nowMs: NOW_MS } as const
    const [, starter] = defaultTiers
    if (!starter) throw new Error('There is no Starter tier.')
    await ledger.putTier({ ...starter, rank: 50, amountMillionths: 500_000 }, by)
    const tiers = await readTiers()
    expect(tiers.map(({ id }) => id)).toEqual(['free', 'pro', 'enterprise', 'starter', 'test'])
    expect(tiers[3]?.priceUsdc).toBe('0.5')
  })

  test('behavior: is that of this ledger', async () => {
    const other = createHarness({ ledger: openLedger(':memory:', { nowMs: NOW_MS }) })
    const response = await other.sendAs(undefined, '/v1/billing/tiers')
    expect(((await response.json()) as TierBody[])[1]?.priceUsdc).toBe('19')
  })

  test('error: there is no parameter', async () => {
    const response = await sendAs(undefined, '/v1/billing/tiers?coin=btc')
    expect((await readProblem(response)).param).toBe('coin')
  })
})
