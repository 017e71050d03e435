import { type Static, Type } from '@sinclair/typebox'

import { gapReasons, tallyReasons } from '#src/domain/coverage.ts'
import { marketStatuses, outcomes, timeframes } from '#src/domain/market.ts'
import {
  momentParameter,
  rangeParameters,
  sourceParameter,
  timeframeParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  count,
  group,
  groups,
  heldFields,
  listOf,
  marketFields,
  nullable,
  object,
  shareOrNull,
  time,
  timeOrNull,
  verifiedField,
} from '#src/http/fields.ts'

const duration = (description: string, example: number) =>
  count(`${description}, milliseconds.`, example)

const reason = choice(
  gapReasons,
  '`recorder_down`: we did not listen. `venue_silent`: we listened and nothing came. `venue_restart`: the venue restarted its matching engine, as it does on Tuesdays at 07:00 Eastern. `hash_mismatch`: the book contradicted the hash of the venue. `import`: the imported files hold nothing there. `not_open`: outside the time of the market.',
)
const tallyReason = choice(
  tallyReasons,
  'As in `gaps` of a market; or `window_unknown`: snapshots are held of a market whose trading window is not known, so they count in no window and `durationMs` is 0.',
)
const longestSilenceMs = nullable(
  Type.Integer(),
  'Longest time between two consecutive snapshots of an outcome; null where unknown, milliseconds.',
  2140,
)

const from = time('Start, inclusive.', '2026-04-14T08:00:00.000Z')
const to = time('End, exclusive.', '2026-04-14T08:05:00.000Z')
const durationMs = duration('Length', 300_000)

const OutcomeCoverageBody = object('OutcomeCoverage', {
  outcome: choice(outcomes, 'Outcome of the market.'),
  covered: shareOrNull(
    'Share of the requested time in which it is recorded, rounded down to six decimals; null of no time, and if the trading window is not known unless both `from` and `to` are sent.',
    0.982166,
  ),
  coveredMs: duration('Time in which it is recorded', 294_650),
  intervals: Type.Array(Type.Object({ from, to, durationMs }), {
    description: 'When it is recorded. Intervals and gaps tile the requested time.',
  }),
  gaps: Type.Array(Type.Object({ from, to, durationMs, reason }), {
    description: 'When it is not, and why.',
  }),
  wholeMarket: group('What is held of the outcome, whatever `from` and `to`.', {
    snapshots: count('Snapshots held.', 2481),
    verifiedSnapshots: count("Those whose books reproduce the venue's own hash.", 2480),
    verified: verifiedField,
    longestSilenceMs,
    ...heldFields,
  }),
})

export const MarketCoverageBody = object('Coverage', {
  ...marketFields,
  status: choice(marketStatuses, 'Stage of the market.'),
  requested: Type.Object(
    {
      from: timeOrNull(
        'Start, inclusive; null when nothing is known of the market.',
        from.examples[0],
      ),
      to: timeOrNull('End, exclusive; null when nothing is known of the market.', to.examples[0]),
      durationMs,
    },
    {
      description:
        '`from` and `to` as they were sent. Where they were not: the time of the market, which is its window, if known, and what is held beyond it, up to now.',
    },
  ),
  covered: shareOrNull('The same over both outcomes.', 0.982166),
  silenceMs: duration(
    'Snapshots of an outcome further apart than this have a gap between them',
    5000,
  ),
  outcomes: Type.Array(OutcomeCoverageBody, { description: 'Up, then down.' }),
  revision: count('Of the market; rises whenever anything of it changes.', 17),
})
export type MarketCoverageBody = Static<typeof MarketCoverageBody>

export const MarketCoverageQuery = Type.Object(rangeParameters('the time to look at'))

export const CoverageDay = object('CoverageDay', {
  day: Type.String({
    format: 'date',
    description: 'UTC day in which the windows begin.',
    examples: ['2026-04-14'],
  }),
  state: choice(
    ['available', 'degraded', 'missing', 'pending'],
    '`available`: of each timeframe of the day every window is there and fully recorded. `degraded`: something is missing, or the window of a market is not known. `missing`: nothing is recorded. `pending`: the day is not over.',
  ),
  markets: count('Markets whose windows begin on the day.', 415),
  timeframes: groups('Timeframes of which there are markets, shortest first.', {
    timeframe: choice(timeframes, 'Length of the windows.'),
    markets: count('Markets that are known.', 288),
    windows: count('Windows of this length that a whole day has.', 288),
    covered: shareOrNull(
      "Share of the windows' time that is recorded; null while none has begun.",
      0.9821,
    ),
  }),
  snapshots: Type.Object(
    { up: count('Snapshots of up.', 712_114), down: count('Snapshots of down.', 711_980) },
    { description: 'Snapshots held.' },
  ),
  covered: shareOrNull(
    "Share of the windows' time, over both outcomes, that is recorded, windows that are not held included, rounded down to six decimals; null while none has begun or no market is held.",
    0.982166,
  ),
  gaps: Type.Array(
    Type.Object({
      reason: tallyReason,
      count: count('Gaps.', 12),
      durationMs: duration('Together', 64_120),
    }),
    {
      description:
        'What is missing in the windows, by reason, added up over both outcomes; a window that is not held is one of each, `import`.',
    },
  ),
  verified: verifiedField,
  longestSilenceMs,
})
export type CoverageDay = Static<typeof CoverageDay>

export const CoinCoverageList = listOf(
  CoverageDay,
  'Every day of the range, oldest first.',
  'Always null: a range fits on one page.',
)
export type CoinCoverageList = Static<typeof CoinCoverageList>

export const DAYS_DEFAULT = 31
export const DAYS_MAX = 366

export const CoinCoverageQuery = Type.Object({
  from: Type.Optional(
    momentParameter(`A moment of the first day. Without it ${DAYS_DEFAULT} days up to \`to\`.`),
  ),
  to: Type.Optional(
    momentParameter(
      `End, exclusive: the day of the moment before it is the last one. Without it ${DAYS_DEFAULT} days from \`from\`, or up to today. At most ${DAYS_MAX} days.`,
    ),
  ),
  timeframe: timeframeParameter('Only windows of this length.'),
  source: sourceParameter,
})
export type CoinCoverageQuery = Static<typeof CoinCoverageQuery>
