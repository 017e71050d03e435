import { type Static, Type } from '@sinclair/typebox'

import { conditionIdPattern } from '#src/core/market.ts'
import { outcomeParameter, rangeParameters, timeframeParameter } from '#src/http/data-query.ts'
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
      'Goes before `Accept`, which may weigh `application/x-ndjson`, `text/csv` and `application/vnd.apache.parquet` by `q`; NDJSON when neither says, and when `Accept` leaves none of the three.',
    ),
  ),
  shape: Type.Optional(
    choice(
      ['levels', 'states'],
      'Of CSV and Parquet: a row a level (`levels`, the default, whole books), or a row a snapshot with its best `depth` levels a side (`states`).',
    ),
  ),
  depth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LEVELS_MAX,
      description: `Of CSV and Parquet: levels a side. All by default with \`levels\`; ${STATE_LEVELS_DEFAULT} by default and at most ${STATE_LEVELS_MAX} with \`states\`.`,
    }),
  ),
  include: Type.Optional(
    choice(
      ['receivedAt'],
      'Adds to each row when the recorder received its state: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet.',
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
      'x-expected': ' that is the `id` of a snapshot, such as 1482734',
      description:
        'Resumes an interrupted download: the `id` of the last whole snapshot that arrived, such as 1482734. Append the answer to what you have; CSV then comes without its header. Not for Parquet.',
    }),
  ),
})
export type MarketExportQuery = Static<typeof MarketExportQuery>

export const DayExportQuery = Type.Object({
  day: Type.String({
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
    'x-expected': ' that is a day in UTC, such as 2026-04-14',
    description:
      'A day in UTC: the markets whose windows begin in it (where a window is unknown, its first snapshot). Day and coin make one file.',
    examples: [exampleMarket.day],
  }),
  timeframe: timeframeParameter('Only markets of this timeframe.'),
  ...shared,
  after: Type.Optional(
    Type.String({
      pattern: `${conditionIdPattern.source.slice(0, -1)}:${ID}$`,
      'x-expected': ' that is the `conditionId` and the `id` of a snapshot with a colon between',
      description:
        'Resumes an interrupted download: `conditionId:id` of the last whole snapshot that arrived. Not for Parquet.',
    }),
  ),
})
export type DayExportQuery = Static<typeof DayExportQuery>

const ExportBody = object('Export', {
  exportId: text('The `X-Export-Id` of the answer.', 'exp_8f3k2m9q4t7w'),
  name: text('Name of the file, without its ending.', 'btc-updown-5m-1776153600'),
  state: choice(
    ['running', 'complete', 'broken_off'],
    'Only a `complete` one was sent to its end.',
  ),
  format: choice(formats, 'Format of the file.'),
  contentEncoding: nullable(
    Type.Literal('gzip'),
    'What the bytes were sent as; `bytes` and `sha256` are of these.',
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
