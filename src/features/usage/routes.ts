import { Elysia } from 'elysia'

import type { Caller, RateState } from '#src/domain/selling/caller.ts'
import type { Credit } from '#src/domain/selling/credit.ts'
import { type Clock, DAY_MS, toIso, toIsoDay, toIsoOrNull } from '#src/domain/time.ts'
import type { Api } from '#src/http/api.ts'
import type { UsageRow } from '#src/ledger/ledger.ts'

import { UsageBody, type UsageDay } from './schema.ts'

type Windows = { data: RateState; billing: RateState }
type UsageOptions = {
  clock: Clock
  /** Port: the current rate windows of a caller, without counting a request. */
  windowsOf: (caller: Caller) => Windows
  /** Port: the usage counters of a caller's account, including unwritten ones. */
  usageOf: (caller: Caller) => readonly UsageRow[]
  /** Port: bought requests of the caller's account that are left. */
  creditsOf: (caller: Caller) => readonly Credit[]
}

const DAYS_MAX = 90

export const usageRoutes = (api: Api, options: UsageOptions) =>
  new Elysia({ name: 'usage' })
    .use(api)
    .get('/v1/usage', ({ caller }) => describeUsage(options, caller, options.windowsOf(caller)), {
      access: 'key',
      caching: 'no-store',
      response: { 200: UsageBody },
      answers: { description: 'Limits and usage.' },
      detail: {
        operationId: 'getUsage',
        summary: 'Get tier, rate limits and usage',
        description:
          'Rate limits are those of the key of this request; requests and bytes are summed over all keys of the account.',
        tags: ['account'],
      },
    })

export function describeUsage(
  { clock, usageOf, creditsOf }: Omit<UsageOptions, 'windowsOf'>,
  caller: Caller,
  { data, billing }: Windows,
): UsageBody {
  const nowMs = clock()
  const { terms, subscription } = caller.standing
  const { tierId, name, requestsPerMinute, coins, routes } = terms
  const packs = creditsOf(caller).map(({ id, terms: of, requests, used }) => ({
    paymentId: id,
    name: of.name,
    requests,
    used,
  }))
  return {
    tier: { id: tierId, name, requestsPerMinute, coins: [...coins], routes: [...routes] },
    period: subscription
      ? { startsAt: toIso(subscription.startMs), endsAt: toIsoOrNull(subscription.endMs) }
      : null,
    windows: { data: toWindow(data, nowMs), billing: toWindow(billing, nowMs) },
    ...(packs.length > 0 ? { packs } : {}),
    days: toDays(usageOf(caller), toIsoDay(nowMs - (DAYS_MAX - 1) * DAY_MS)),
  }
}

/** Rounded up, so that a caller that waits that long finds a new window. */
const toWindow = ({ limit, remaining, leftMs }: RateState, nowMs: number) => ({
  limit,
  remaining,
  resetsAt: toIso(Math.ceil(nowMs + leftMs)),
})

function toDays(rows: readonly UsageRow[], fromDay: string): UsageDay[] {
  const shown = rows.filter(({ day }) => day >= fromDay)
  const days = Map.groupBy(shown, ({ day }) => day)
  return [...days]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([date, ofDay]) => ({ date, ...sum(ofDay), routes: toRoutes(ofDay) }))
}

const toRoutes = (rows: readonly UsageRow[]): UsageDay['routes'] =>
  [...Map.groupBy(rows, ({ route }) => route)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([route, ofRoute]) => ({ route, ...sum(ofRoute) }))

const sum = (rows: readonly UsageRow[]) => ({
  requests: rows.reduce((total, { requests }) => total + requests, 0),
  bytes: rows.reduce((total, { bytes }) => total + bytes, 0),
})
