import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { coins } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { describeUsage } from '#src/features/usage/routes.ts'
import { UsageBody } from '#src/features/usage/schema.ts'
import type { UsageRow } from '#src/ledger/ledger.ts'

import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

const DAY_MS = 86_400_000
const dayOf = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10)

type Harness = ReturnType<typeof createHarness>

async function readUsage({ sendAs }: Harness, key: string): Promise<UsageBody> {
  const response = await sendAs(key, '/v1/usage')
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(UsageBody, body)]).toEqual([200])
  expect(response.headers.get('cache-control')).toBe('no-store')
  return body as UsageBody
}

describe('GET /v1/usage', () => {
  test('default: the tier, both allowances and the requests of today', async () => {
    const harness = createHarness()
    const key = addKey(harness.ledger, 'pro')
    const answers = [
      await harness.sendAs(key, '/v1/btc/markets'),
      await harness.sendAs(key, '/v1/btc/markets'),
    ]
    const bytes = answers.reduce(
      (sum, { headers }) => sum + Number(headers.get('content-length')),
      0,
    )
    const usage = await readUsage(harness, key)
    expect(usage.tier).toEqual({
      id: 'pro',
      name: 'Pro',
      requestsPerMinute: 300,
      coins,
      routes: ['markets', 'prices', 'snapshots', 'quotes'],
    })
    expect(usage.period).toEqual({ startsAt: '1970-01-01T00:00:00.000Z', endsAt: null })
    expect(usage.windows).toEqual({
      data: {
        limit: 300,
        remaining: expect.any(Number),
        resetsAt: new Date(NOW_MS + 60_000).toISOString(),
      },
      billing: {
        limit: 300,
        remaining: 300,
        resetsAt: new Date(NOW_MS + 60_000).toISOString(),
      },
    })
    expect(usage.windows.data.remaining).toBeLessThan(299)
    expect(usage.days).toHaveLength(1)
    const [today] = usage.days
    expect(today?.date).toBe(dayOf(NOW_MS))
    expect(today?.routes).toContainEqual({ route: 'markets', requests: 2, bytes })
  })

  test('behavior: the same before and after what was used is written', async () => {
    const harness = createHarness()
    const key = addKey(harness.ledger, 'pro')
    for (let count = 0; count < 5; count++) await harness.sendAs(key, '/v1/btc/markets')
    const markets = (usage: UsageBody) =>
      usage.days[0]?.routes.find(({ route }) => route === 'markets')
    const before = markets(await readUsage(harness, key))
    await harness.app.flushUsage()
    expect(markets(await readUsage(harness, key))).toEqual(before)
    expect(before?.requests).toBe(5)
  })

  test('behavior: on the Free tier there is no period; another account has its own', async () => {
    const harness = createHarness()
    await harness.send('/v1/btc/markets')
    const usage = await readUsage(harness, addKey(harness.ledger, undefined))
    expect([usage.tier.id, usage.period, usage.days]).toEqual(['free', null, []])
  })

  test('error: without a key, and with a parameter', async () => {
    const { sendAs, send } = createHarness()
    expect((await readProblem(await sendAs(undefined, '/v1/usage'))).code).toBe('unauthenticated')
    expect((await readProblem(await send('/v1/usage?day=1'))).param).toBe('day')
  })
})

const caller: Caller = {
  keyId: 'key_1',
  accountId: 'acc_1',
  familyId: 'key_1',
  isBlocked: false,
  standing: {
    terms: {
      tierId: 'pro',
      name: 'Pro',
      rank: 3,
      coins: ['btc'],
      routes: ['markets'],
      requestsPerMinute: 300,
    },
    subscription: {
      id: 'sub_1',
      accountId: 'acc_1',
      tierId: 'pro',
      startMs: NOW_MS - DAY_MS,
      endMs: NOW_MS + DAY_MS,
      createdMs: NOW_MS,
    },
    untilMs: NOW_MS + DAY_MS,
  },
}

function usageOf(rows: readonly UsageRow[], leftMs = 60_000): UsageBody {
  const rate = { limit: 300, remaining: 0, leftMs }
  const ports = { usageOf: () => rows, creditsOf: () => [] }
  return describeUsage({ clock: () => NOW_MS, ...ports }, caller, { data: rate, billing: rate })
}

describe('usage', () => {
  test('behavior: days newest first, routes by name, each the sum of its parts', () => {
    const row = (day: string, route: string, requests: number) => ({
      day,
      route,
      requests,
      bytes: requests * 10,
    })
    const rows = [
      row('2026-01-01', 'snapshots', 1),
      row('2026-01-02', 'markets', 2),
      row('2026-01-01', 'markets', 4),
      row('2026-01-01', 'snapshots', 8),
    ]
    expect(usageOf(rows).days).toEqual([
      {
        date: '2026-01-02',
        requests: 2,
        bytes: 20,
        routes: [{ route: 'markets', requests: 2, bytes: 20 }],
      },
      {
        date: '2026-01-01',
        requests: 13,
        bytes: 130,
        routes: [
          { route: 'markets', requests: 4, bytes: 40 },
          { route: 'snapshots', requests: 9, bytes: 90 },
        ],
      },
    ])
  })

  test('behavior: ninety days, today included', () => {
    const rows = Array.from({ length: 200 }, (_, ago) => ({
      day: dayOf(NOW_MS - ago * DAY_MS),
      route: 'markets',
      requests: 1,
      bytes: 1,
    }))
    const { days } = usageOf(rows)
    expect([days.length, days[0]?.date, days[89]?.date]).toEqual([
      90,
      dayOf(NOW_MS),
      dayOf(NOW_MS - 89 * DAY_MS),
    ])
  })

  test('behavior: says when the period ends, and when a window does, rounded up', () => {
    const { period, windows } = usageOf([], 1234.5)
    expect(period).toEqual({
      startsAt: new Date(NOW_MS - DAY_MS).toISOString(),
      endsAt: new Date(NOW_MS + DAY_MS).toISOString(),
    })
    expect(windows.data.resetsAt).toBe(new Date(NOW_MS + 1235).toISOString())
  })
})
