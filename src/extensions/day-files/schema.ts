import { type Static, Type } from '@sinclair/typebox'

import { timeframes } from '#src/domain/market.ts'
import { cursorParameter, limitParameter, timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  exampleDay,
  exampleMarket,
  listOf,
  object,
  text,
  time,
} from '#src/http/fields.ts'
import { oneOf, utcDay } from '#src/http/kinds.ts'
import { numberForms } from '#src/tables/column.ts'

import { fileKinds } from './store.ts'

/** How long links are valid. */
export const linkLengthMs = {
  '10m': 600_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '1d': 86_400_000,
  '7d': 604_800_000,
} as const
export type LinkLength = keyof typeof linkLengthMs
const linkLengths = Object.keys(linkLengthMs) as LinkLength[]

export const FileQuery = Type.Object({
  timeframe: timeframeParameter('Only files of this timeframe.'),
  day: Type.Optional(
    utcDay({ description: 'Only files of this day in UTC.', examples: [exampleDay.day] }),
  ),
  kind: Type.Optional(oneOf(fileKinds, { description: 'Only files of this kind.' })),
  numbers: Type.Optional(
    oneOf(numberForms, { description: 'Only files with this type of numbers.' }),
  ),
  links: Type.Optional(
    oneOf(linkLengths, {
      description:
        'Adds `link` to each file of the newest revision: a URL that needs no header, valid for this time.',
      examples: ['1h'],
    }),
  ),
  limit: limitParameter('Files', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type FileQuery = Static<typeof FileQuery>

export const fileName = text('`name` of a file in GET /v1/{coin}/files.', exampleDay.file)

const FileBody = object('DayFile', {
  name: fileName,
  url: text('Path of the file on this server.', `/v1/btc/files/${exampleDay.file}`),
  timeframe: choice(timeframes, 'Timeframe of the markets.', exampleMarket.timeframe),
  day: Type.String({
    format: 'date',
    description: 'UTC day on which the windows begin.',
    examples: [exampleDay.day],
  }),
  kind: choice(
    fileKinds,
    '`snapshots`: one row for each snapshot, with 25 levels of each side. `levels`: one row for each level of each snapshot. `quotes`: one row for each change of the top of the book. `trades`: one row for each trade. `panel`: one row for each market and moment before its expiry. `changes`: one row per changed level.',
  ),
  numbers: choice(
    numberForms,
    'Type of prices and sizes: `decimal` is DECIMAL and exact, `double` is DOUBLE, which every program reads.',
  ),
  revision: count('Revision of the day, from 1; a later one has data that became known later.', 1),
  isLatest: Type.Boolean({ description: 'True for the newest revision.' }),
  markets: count('Number of markets in the file.', 288),
  rows: count('Number of rows in the file.', 418_220),
  bytes: count('Size of the file in bytes.', 6_120_344),
  sha256: text(
    'SHA-256 of the file, in hex.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ),
  madeAt: time('Time at which the file was made.', '2026-04-15T02:00:00.000Z'),
  link: Type.Optional(
    text(
      'Address of the file that needs no header. Only with `links`, and only of the newest revision.',
      `https://api.example.com/v1/btc/links/bf_link_AWneI-BrZXlf/${exampleDay.file}`,
    ),
  ),
  linkExpires: Type.Optional(time('When `link` ends.', '2026-04-15T03:00:00.000Z')),
})
export type FileBody = Static<typeof FileBody>

export const FileList = listOf(FileBody, 'Files by timeframe, then newest day first.')
export type FileList = Static<typeof FileList>

export const OpenFileList = Type.Object({
  data: Type.Array(FileBody, { description: 'Files by coin, timeframe and kind.' }),
})

export const ArchiveQuery = Type.Object({
  kind: oneOf(fileKinds, { description: 'Kind of the files.', examples: ['quotes'] }),
  timeframe: timeframeParameter('Only files of this timeframe; by default all.'),
  numbers: oneOf(numberForms, {
    default: 'decimal',
    description: 'Prices and sizes as DECIMAL, exact, or as DOUBLE.',
  }),
  from: utcDay({ description: 'First day in UTC.', examples: [exampleDay.day] }),
  to: utcDay({
    description: 'End in UTC, exclusive: the day after the last one.',
    // Later than the days of any server, which replace the other example.
    examples: ['2030-01-01'],
  }),
  links: oneOf(linkLengths, { default: '1d', description: 'How long the links are valid.' }),
})
export type ArchiveQuery = Static<typeof ArchiveQuery>
