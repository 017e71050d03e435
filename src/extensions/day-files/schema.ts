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
import { literals, utcDay } from '#src/http/schema-reader.ts'
import { numberForms } from '#src/tables/column.ts'

import { fileKinds } from './store.ts'

export const FileQuery = Type.Object({
  timeframe: timeframeParameter('Only files of this timeframe.'),
  day: Type.Optional(
    utcDay({ description: 'Only files of this day in UTC.', examples: [exampleDay.day] }),
  ),
  kind: Type.Optional(literals(fileKinds, { description: 'Only files of this kind.' })),
  numbers: Type.Optional(
    literals(numberForms, { description: 'Only files whose numbers are of this form.' }),
  ),
  limit: limitParameter('Files', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type FileQuery = Static<typeof FileQuery>

export const fileName = text('`name` of a file in GET /v1/{coin}/files.', exampleDay.file)

const FileBody = object('DayFile', {
  name: fileName,
  url: text('Where the file is, on this server.', `/v1/btc/files/${exampleDay.file}`),
  timeframe: choice(timeframes, "Length of the markets' windows.", exampleMarket.timeframe),
  day: Type.String({
    format: 'date',
    description: 'Day in UTC on which the windows begin.',
    examples: [exampleDay.day],
  }),
  kind: choice(
    fileKinds,
    '`snapshots`: a row a state with 25 levels of each side. `levels`: a row a level of each state. `quotes`: a row a change of the best levels. `trades`. `panel`: a row a market and moment before its expiry.',
  ),
  numbers: choice(
    numberForms,
    'Prices and sizes as DECIMAL, exact, or as DOUBLE, which every program reads.',
  ),
  revision: count('1 at first; more where something of the day became known later.', 1),
  isLatest: Type.Boolean({ description: 'False once there is another revision.' }),
  markets: count('Markets in it.', 288),
  rows: count('Rows in it.', 418_220),
  bytes: count('Length of the file.', 6_120_344),
  sha256: text(
    'SHA-256 of the file, in hex.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ),
  madeAt: time('When it was made.', '2026-04-15T02:00:00.000Z'),
})
export type FileBody = Static<typeof FileBody>

export const FileList = listOf(FileBody, 'Files by timeframe, newest day first.')
export type FileList = Static<typeof FileList>
