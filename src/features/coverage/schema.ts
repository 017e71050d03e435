import { type Static, Type } from '@sinclair/typebox'

import { gapReasons, tallyReasons } from '#src/domain/coverage.ts'
import { marketStatuses, outcomes, timeframes } from '#src/domain/market.ts'
import { settlementReasons } from '#src/history/reads/settlement-read.ts'
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
  marketFields,
  nullable,
  object,
  onePageOf,
  shareOrNull,
  time,
  timeOrNull,
  verifiedField,
} from '#src/http/fields.ts'

const duration = (description: string, example: number) =>
  count(`${description}, milliseconds.`, example)

const reason = choice(
  gapReasons,
  "`recorder_down`: the recorder was not connected. `venue_silent`: the recorder was connected and received nothing. `venue_restart`: the venue restarted its matching engine, as it does on Tuesdays at 07:00 Eastern. `hash_mismatch`: the book contradicted the venue's hash. `import`: the imported files have no data. `not_open`: outside of the market's time. `replica_behind`: this server's copy of the database is behind and may lack data; try again.",
)
const tallyReason = choice(
  tallyReasons,
  'As in `gaps` of a market; or `window_unknown`: the market has snapshots but its window is unknown, so they count in no window and `durationMs` is 0.',
)
const longestSilenceMs = nullable(
  Type.Integer(),
  'Longest time between two consecutive snapshots of an outcome, in milliseconds; null if unknown.',
  2140,
)

const from = time('Start, inclusive.', '2026-04-14T08:00:00.000Z')
const to = time('End, exclusive.', '2026-04-14T08:05:00.000Z')
const durationMs = duration('Length', 300_000)

const OutcomeCoverageBody = object('OutcomeCoverage', {
  outcome: choice(outcomes, 'Outcome of the market.'),
  covered: shareOrNull(
    'Recorded share of the requested time, rounded down to six decimals; null if that time is empty, and if the window is unknown unless both `from` and `to` are sent.',
    0.982166,
  ),
  coveredMs: duration('Total recorded time', 294_650),
  intervals: Type.Array(Type.Object({ from, to, durationMs }), {
    description: 'Recorded intervals. Intervals and gaps together fill the requested time.',
  }),
  gaps: Type.Array(Type.Object({ from, to, durationMs, reason }), {
    description: 'Gaps, with their reasons.',
  }),
  wholeMarket: group('Stored snapshots of the outcome, regardless of `from` and `to`.', {
    snapshots: count('Snapshots held.', 2481),
    verifiedSnapshots: count("Snapshots that match the venue's hash.", 2480),
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
        'Start, inclusive; null if nothing is known of the market.',
        from.examples[0],
      ),
      to: timeOrNull('End, exclusive; null if nothing is known of the market.', to.examples[0]),
      durationMs,
    },
    {
      description:
        '`from` and `to` as requested. By default, the time of the market: its window, if known, and the recorded time beyond it, up to now.',
    },
  ),
  covered: shareOrNull('Coverage of both outcomes together.', 0.982166),
  silenceMs: duration(
    'Longest time between two snapshots of an outcome that does not count as a gap',
    5000,
  ),
  outcomes: Type.Array(OutcomeCoverageBody, { description: 'Outcomes, `up` before `down`.' }),
  revision: count('Version of the market; increases with each change.', 17),
})
export type MarketCoverageBody = Static<typeof MarketCoverageBody>

export const MarketCoverageQuery = Type.Object(rangeParameters('the requested time'))

export const CoverageDay = object('CoverageDay', {
  day: Type.String({
    format: 'date',
    description: 'UTC day in which the windows begin.',
    examples: ['2026-04-14'],
  }),
  state: choice(
    ['available', 'degraded', 'missing', 'pending'],
    '`available`: for each timeframe of the day, every window is fully recorded. `degraded`: something is missing, or the window of a market is unknown. `missing`: nothing is recorded. `pending`: the day is not over.',
  ),
  markets: count('Markets whose windows begin on the day.', 415),
  timeframes: groups('Timeframes with markets, shortest first.', {
    timeframe: choice(timeframes, 'Length of the windows.'),
    markets: count('Number of known markets.', 288),
    windows: count('Number of windows in a full day.', 288),
    covered: shareOrNull(
      "Recorded share of the windows' time; null before the first window begins.",
      0.9821,
    ),
  }),
  snapshots: Type.Object(
    { up: count('Snapshots of up.', 712_114), down: count('Snapshots of down.', 711_980) },
    { description: 'Snapshots held.' },
  ),
  covered: shareOrNull(
    "Recorded share of the windows' time, of both outcomes together, windows that are not recorded included, rounded down to six decimals; null before the first window begins, or if no market is known.",
    0.982166,
  ),
  gaps: Type.Array(
    Type.Object({
      reason: tallyReason,
      count: count('Number of gaps.', 12),
      durationMs: duration('Together', 64_120),
    }),
    {
      description:
        'Missing time by reason, summed over both outcomes. A window that is not recorded counts as one gap for each outcome, with the reason `import`.',
    },
  ),
  verified: verifiedField,
  longestSilenceMs,
})
export type CoverageDay = Static<typeof CoverageDay>

export const CoinCoverageList = onePageOf(CoverageDay, 'Days of the range, oldest first.')
export type CoinCoverageList = Static<typeof CoinCoverageList>

export const dayKinds = ['snapshots', 'trades', 'settlements'] as const
const dayStates = ['complete', 'gaps', 'pending', 'missing'] as const
export type DayState = (typeof dayStates)[number]

const dayReasons = [
  ...tallyReasons,
  'no_market',
  'no_trade',
  ...settlementReasons.filter((each) => each !== 'window_unknown'),
] as const

const DayKindBody = object('DayKind', {
  day: CoverageDay.properties.day,
  kind: choice(
    dayKinds,
    '`snapshots`: order books, and data derived from them, such as quotes and bars. `trades`: trades. `settlements`: prices at the ends of windows, which verify their results.',
  ),
  state: choice(
    dayStates,
    '`complete`: nothing is missing. `gaps`: part of the data is missing. `pending`: the day, or one of its windows, has not ended or has no result yet. `missing`: nothing is recorded.',
  ),
  reasons: Type.Array(choice(dayReasons, 'Reason.'), {
    description:
      'Why the data is not complete: reasons of gaps as in coverage, reasons of settlements as in GET …/settlement, `no_market` if a window is not recorded, `no_trade` if no trade is.',
    examples: [['recorder_down']],
  }),
  since: time(
    'Time since when the state holds: the end of the last window of the day, or a later change of one of its markets. For `pending`, the start of the day.',
    '2026-04-15T00:00:00.000Z',
  ),
})
export type DayKind = Static<typeof DayKindBody>

export const DayKindList = onePageOf(
  DayKindBody,
  'Every day of the range, oldest first, with an entry for each kind.',
)

export const DAYS_DEFAULT = 31
export const DAYS_MAX = 366

export const CoinCoverageQuery = Type.Object({
  from: Type.Optional(
    momentParameter(`A moment of the first day. Default: ${DAYS_DEFAULT} days before \`to\`.`),
  ),
  to: Type.Optional(
    momentParameter(
      `End, exclusive: the last day is that of the moment before. Default: ${DAYS_DEFAULT} days after \`from\`, or today. At most ${DAYS_MAX} days.`,
    ),
  ),
  timeframe: timeframeParameter('Only windows of this timeframe.'),
  source: sourceParameter,
})
export type CoinCoverageQuery = Static<typeof CoinCoverageQuery>
