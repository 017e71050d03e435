import { type Static, Type } from '@sinclair/typebox'

import { MARKET_NAME_PATTERN } from '#src/domain/market.ts'
import {
  outcomeParameter,
  rangeParameters,
  sourceParameter,
  timeframeParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  count,
  exampleMarket,
  listOf,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { utcDay } from '#src/http/schema-reader.ts'

const ID = '[1-9][0-9]{0,15}'

const formats = ['ndjson', 'csv', 'parquet'] as const
export type Format = (typeof formats)[number]

export const LEVELS_MAX = 4000
export const STATE_LEVELS_MAX = 25
export const STATE_LEVELS_DEFAULT = 10

const shared = {
  format: Type.Optional(
    choice(
      formats,
      'Takes precedence over `Accept`, which may name `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. NDJSON by default, also when `Accept` names none of them.',
    ),
  ),
  shape: Type.Optional(
    choice(
      ['levels', 'states'],
      'Only for CSV and Parquet. `levels` (the default): one row per level, whole books. `states`: one row per snapshot with its best `depth` levels of each side.',
    ),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LEVELS_MAX,
      description: `Only for CSV and Parquet: levels of each side. All by default with \`levels\`; ${STATE_LEVELS_DEFAULT} by default and at most ${STATE_LEVELS_MAX} with \`states\`.`,
    }),
  ),
  include: Type.Optional(
    choice(
      ['receivedAt'],
      'Adds the time at which the recorder received the state of each row: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet.',
    ),
  ),
  outcome: outcomeParameter,
}

export const MarketExportQuery = Type.Object({
  ...shared,
  ...rangeParameters('`timestamp`'),
  after: Type.Optional(
    Type.String({
      pattern: `^${ID}$`,
      'x-expected': 'the `id` of a snapshot, such as 1482734',
      description:
        'Resumes an interrupted download: the `id` of the last complete snapshot received, such as 1482734. Append the response to what you have; CSV then has no header. Not for Parquet.',
    }),
  ),
})
export type MarketExportQuery = Static<typeof MarketExportQuery>

export const DayExportQuery = Type.Object({
  day: utcDay({
    description:
      'A day in UTC, or a moment in it: the markets whose windows begin on that day (where a window is unknown, its first snapshot). Day and coin make one file.',
    examples: [exampleMarket.day],
  }),
  timeframe: timeframeParameter('Only markets of this timeframe.'),
  source: sourceParameter,
  ...shared,
  after: Type.Optional(
    Type.String({
      pattern: `${MARKET_NAME_PATTERN.slice(0, -1)}:${ID}$`,
      'x-expected': 'the name of a market and the `id` of a snapshot, with a colon between',
      description:
        'Resumes an interrupted download: `conditionId:id` of the last complete snapshot received; the market may also be given by its slug or an asset id. Not for Parquet.',
    }),
  ),
})
export type DayExportQuery = Static<typeof DayExportQuery>

const ExportBody = object('Export', {
  exportId: text('The `X-Export-Id` of the answer.', 'exp_8f3k2m9q4t7w'),
  name: text('Name of the file, without its ending.', 'btc-updown-5m-1776153600'),
  state: choice(
    ['running', 'complete', 'broken_off'],
    '`complete` means that everything was sent.',
  ),
  format: choice(formats, 'Format of the file.'),
  contentEncoding: nullable(
    Type.Literal('gzip'),
    'Encoding in which the bytes were sent; `bytes` and `sha256` count the encoded bytes.',
    'gzip',
  ),
  snapshots: count('Snapshots sent.', 4962),
  bytes: count('Bytes sent, as encoded.', 452118),
  sha256: textOrNull(
    'SHA-256 of the bytes sent, in hex; null until the export is complete.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ),
  startedAt: time('Start of the answer.', '2026-11-21T08:00:00.000Z'),
  endedAt: timeOrNull('End of the answer; null while it runs.', '2026-11-21T08:00:01.250Z'),
})
export type ExportBody = Static<typeof ExportBody>

export const ExportList = listOf(
  ExportBody,
  'The last 20 exports, newest first.',
  'Always null: there are no further pages.',
)
export type ExportList = Static<typeof ExportList>
