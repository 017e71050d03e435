import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframes } from '#src/domain/market.ts'
import { momentParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  groups,
  nullable,
  object,
  onePageOf,
  text,
  time,
  timeOrNull,
} from '#src/http/fields.ts'

/** Reasons of gaps that are outages. */
export const incidentCauses = ['recorder_down', 'venue_restart', 'venue_silent'] as const

const IncidentBody = object('Incident', {
  id: text('Id of the incident: its cause and its start.', 'recorder_down-1776153600000'),
  source: choice(['recorder', 'venue'], 'Component that failed.'),
  cause: choice(
    incidentCauses,
    'Reason of the gaps. `recorder_down`: the recorder was not connected. `venue_restart`: the venue restarted its matching engine. `venue_silent`: the recorder was connected and received nothing of any open window.',
  ),
  from: time('First missing moment of any market, inclusive.', '2026-04-14T08:00:00.000Z'),
  to: timeOrNull(
    'End of the last gap, exclusive; null while the incident lasts.',
    '2026-04-14T08:02:10.000Z',
  ),
  durationMs: nullable(
    Type.Integer(),
    'Length in milliseconds; null while the incident lasts.',
    130_000,
  ),
  markets: count('Number of markets with a gap.', 24),
  affected: groups('Markets by coin and timeframe.', {
    symbol: choice(coins, 'Coin in lower case.'),
    timeframe: choice(timeframes, 'Timeframe.'),
    markets: count('Number of markets with a gap.', 2),
    firstWindow: time('Start of the first of these windows.', '2026-04-14T08:00:00.000Z'),
    lastWindow: time('Start of the last of these windows.', '2026-04-14T08:00:00.000Z'),
  }),
})
export type IncidentBody = Static<typeof IncidentBody>

export const IncidentList = onePageOf(
  IncidentBody,
  'Incidents that overlap the range, newest first.',
)

export const DAYS_DEFAULT = 7
export const DAYS_MAX = 31

export const IncidentQuery = Type.Object({
  from: Type.Optional(
    momentParameter(`First moment, inclusive. Default: ${DAYS_DEFAULT} days before \`to\`.`),
  ),
  to: Type.Optional(
    momentParameter(
      `End, exclusive. Default: ${DAYS_DEFAULT} days after \`from\`, or now. At most ${DAYS_MAX} days.`,
    ),
  ),
  format: Type.Optional(
    choice(
      ['json', 'atom'],
      'Takes precedence over `Accept`, which may be `application/json` or `application/atom+xml`. Default: JSON.',
    ),
  ),
})
export type IncidentQuery = Static<typeof IncidentQuery>
