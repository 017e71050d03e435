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
  nullable,
  object,
  onePageOf,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { expecting, integer, utcDay } from '#src/http/kinds.ts'
import { type EngineFormat, engineFormats } from '#src/tables/engine-files.ts'
import { tardisKinds } from '#src/tables/tardis.ts'

const ID = '[1-9][0-9]{0,15}'

const tableFormats = ['ndjson', 'csv', 'parquet'] as const
const formats = [...tableFormats, ...engineFormats] as const
export type TableFormat = (typeof tableFormats)[number]
export type Format = (typeof formats)[number]

export const isEngineFormat = (format: Format): format is EngineFormat =>
  engineFormats.some((each) => each === format)

export const LEVELS_MAX = 4000
export const STATE_LEVELS_MAX = 25
export const STATE_LEVELS_DEFAULT = 10

const PRECEDENCE =
  'Takes precedence over `Accept`, which may be `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. Default: NDJSON, also if `Accept` has none of them.'

const shared = {
  shape: Type.Optional(
    choice(
      ['levels', 'states', 'changes'],
      '`levels` (the default) and `states` are for CSV and Parquet: one row per level, whole books; one row per snapshot with its best `depth` levels of each side. `changes` is for every format: the levels that changed, as in `…/changes`.',
    ),
  ),
  depth: Type.Optional(
    integer({
      minimum: 1,
      maximum: LEVELS_MAX,
      description: `Only for CSV and Parquet, not of \`changes\`: levels of each side. All by default with \`levels\`; ${STATE_LEVELS_DEFAULT} by default and at most ${STATE_LEVELS_MAX} with \`states\`.`,
    }),
  ),
  include: Type.Optional(
    choice(
      ['receivedAt'],
      'Adds the time at which the recorder received the snapshot: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet.',
    ),
  ),
  outcome: outcomeParameter,
}

export const MarketExportQuery = Type.Object({
  format: Type.Optional(
    choice(
      formats,
      `${PRECEDENCE} \`Accept: application/zip\` is \`npz\`. \`npz\`, \`tardis\` and \`pmxt\` are files that engines of backtests load: arrays of hftbacktest, CSV of Tardis, Parquet of the PMXT archive. They have changes and trades, the first two of one \`outcome\`, \`up\` by default, and no \`shape\`, \`depth\`, \`include\` or \`after\`.`,
    ),
  ),
  kind: Type.Optional(
    choice(
      tardisKinds,
      'Only of `tardis`: `book` (the default), rows of `incremental_book_L2`, or `trades`.',
    ),
  ),
  ...shared,
  ...rangeParameters('`timestamp`'),
  after: Type.Optional(
    expecting(
      'the `id` of a snapshot, such as 1482734',
      Type.String({
        pattern: `^${ID}$`,
        description:
          'Resumes an interrupted download: the `id` of the last snapshot that was received completely, such as 1482734. Append the response to the file; CSV then has no header. Not for Parquet.',
      }),
    ),
  ),
})
export type MarketExportQuery = Static<typeof MarketExportQuery>

export const DayExportQuery = Type.Object({
  day: utcDay({
    description:
      'A UTC day, or a moment in it. The file has the markets whose windows begin on that day; a market with an unknown window belongs to the day of its first snapshot.',
    examples: [exampleMarket.day],
  }),
  format: Type.Optional(choice(tableFormats, PRECEDENCE)),
  timeframe: timeframeParameter('Only markets of this timeframe.'),
  source: sourceParameter,
  ...shared,
  after: Type.Optional(
    expecting(
      'a market and the `id` of a snapshot, separated by a colon',
      Type.String({
        pattern: `${MARKET_NAME_PATTERN.slice(0, -1)}:${ID}$`,
        description:
          'Resumes an interrupted download: `conditionId:id` of the last snapshot that was received completely; a slug or an asset id also identifies the market. Not for Parquet.',
      }),
    ),
  ),
})
export type DayExportQuery = Static<typeof DayExportQuery>

const ExportBody = object('Export', {
  exportId: text('Value of `X-Export-Id` in the response.', 'exp_8f3k2m9q4t7w'),
  name: text('Name of the file, without the extension.', 'btc-updown-5m-1776153600'),
  state: choice(['running', 'complete', 'broken_off'], '`complete` if everything was sent.'),
  format: choice(formats, 'Format of the file.'),
  contentEncoding: nullable(
    Type.Literal('gzip'),
    'Encoding of the response; `bytes` and `sha256` refer to the encoded bytes.',
    'gzip',
  ),
  snapshots: count('Snapshots sent.', 4962),
  bytes: count('Bytes sent, after encoding.', 452118),
  sha256: textOrNull(
    'SHA-256 of the bytes sent, in hex; null until the export is complete.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ),
  startedAt: time('Start of the response.', '2026-11-21T08:00:00.000Z'),
  endedAt: timeOrNull(
    'End of the response; null while it is being sent.',
    '2026-11-21T08:00:01.250Z',
  ),
})
export type ExportBody = Static<typeof ExportBody>

export const ExportList = onePageOf(ExportBody, 'The last 20 exports, newest first.')
export type ExportList = Static<typeof ExportList>
