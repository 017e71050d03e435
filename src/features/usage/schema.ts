import { type Static, Type } from '@sinclair/typebox'

import { coins } from '#src/domain/market.ts'
import { tierRoutes } from '#src/domain/selling/tier.ts'
import { count, group, nullable, object, text, time } from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

const counters = {
  requests: count('Requests answered.', 1280),
  bytes: count('Bytes of the answers, as sent, without headers.', 402_112),
}

const RateWindow = Type.Object({
  limit: count('Requests a minute.', 300),
  remaining: count('Requests left.', 287),
  resetsAt: time('When the window ends and the next may begin.', '2026-04-14T08:01:00.000Z'),
})

const UsageDay = object('UsageDay', {
  date: Type.String({ format: 'date', description: 'Day in UTC.', examples: ['2026-04-14'] }),
  ...counters,
  routes: Type.Array(
    Type.Object({ route: text('What was asked for.', 'snapshots'), ...counters }),
    { description: 'The same by route, in the order of their names.' },
  ),
})
export type UsageDay = Static<typeof UsageDay>

export const UsageBody = object('Usage', {
  tier: group('What holds for you now.', {
    id: text('Name of the tier in requests.', 'pro'),
    name: text('Name of the tier for people.', 'Pro'),
    requestsPerMinute: Type.Integer({ minimum: 1, examples: [300] }),
    coins: Type.Array(literals(coins, {})),
    routes: Type.Array(literals(tierRoutes, {})),
  }),
  period: nullable(
    Type.Object({
      startsAt: time('Start of the period, inclusive.', '2026-04-01T12:00:00.000Z'),
      endsAt: Type.Union([
        time('End of the period, exclusive; null if it never ends.', '2026-05-01T12:00:00.000Z'),
        Type.Null(),
      ]),
    }),
    'The subscription that gives the tier; null on the Free tier.',
  ),
  windows: Type.Object(
    { data: RateWindow, billing: RateWindow },
    { description: 'Allowances of this key, those that replaced it included.' },
  ),
  packs: Type.Optional(
    Type.Array(
      Type.Object({
        paymentId: text('The payment that bought it.', 'pay_9b2e6f0c1d3a4875'),
        name: text('Name for people.', '1,000 requests'),
        requests: count('Requests bought.', 1000),
        used: count('Of these, answered.', 12),
      }),
      { description: 'Packs with requests left, oldest first; absent without any.' },
    ),
  ),
  days: Type.Array(UsageDay, {
    description: 'Days with a request by any key of the account, newest first, 90 days back.',
  }),
})
export type UsageBody = Static<typeof UsageBody>
