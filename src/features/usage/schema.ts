import { type Static, Type } from '@sinclair/typebox'

import { coins } from '#src/domain/market.ts'
import { tierRoutes } from '#src/domain/selling/tier.ts'
import { count, group, groupOrNull, object, text, time } from '#src/http/fields.ts'
import { oneOf } from '#src/http/kinds.ts'

const counters = {
  requests: count('Requests answered.', 1280),
  bytes: count('Bytes of the answers, as sent, without headers.', 402_112),
}

const RateWindow = Type.Object({
  limit: count('Requests a minute.', 300),
  remaining: count('Requests left.', 287),
  resetsAt: time('End of the window.', '2026-04-14T08:01:00.000Z'),
})

const UsageDay = object('UsageDay', {
  date: Type.String({ format: 'date', description: 'Day in UTC.', examples: ['2026-04-14'] }),
  ...counters,
  routes: Type.Array(Type.Object({ route: text('Requests answered.', 'snapshots'), ...counters }), {
    description: 'Sums by route, in the order of their names.',
  }),
})
export type UsageDay = Static<typeof UsageDay>

export const UsageBody = object('Usage', {
  tier: group('Limits and rights of the current tier.', {
    id: text('Id of the tier.', 'pro'),
    name: text('Display name of the tier.', 'Pro'),
    requestsPerMinute: Type.Integer({ minimum: 1, examples: [300] }),
    coins: Type.Array(oneOf(coins)),
    routes: Type.Array(oneOf(tierRoutes)),
  }),
  period: groupOrNull('Subscription that gives the tier; null on the Free tier.', {
    startsAt: time('Start of the period, inclusive.', '2026-04-01T12:00:00.000Z'),
    endsAt: Type.Union([
      time('End of the period, exclusive; null if it never ends.', '2026-05-01T12:00:00.000Z'),
      Type.Null(),
    ]),
  }),
  windows: Type.Object(
    { data: RateWindow, billing: RateWindow },
    { description: 'Rate limits of this key, shared with the keys that it replaced.' },
  ),
  packs: Type.Optional(
    Type.Array(
      Type.Object({
        paymentId: text('Payment that bought the pack.', 'pay_9b2e6f0c1d3a4875'),
        name: text('Display name.', '1,000 requests'),
        requests: count('Requests bought.', 1000),
        used: count('Requests used.', 12),
      }),
      { description: 'Packs with requests left, oldest first; absent if there are none.' },
    ),
  ),
  days: Type.Array(UsageDay, {
    description: "Days with requests of the account's keys, newest first, 90 days back.",
  }),
})
export type UsageBody = Static<typeof UsageBody>
