import { type Static, Type } from '@sinclair/typebox'

import { object, text } from '#src/http/fields.ts'

export const Health = object('Health', {
  status: Type.Literal('ok', { description: 'Always `ok`; a dead process does not respond.' }),
  version: text('Version of the server.', '0.1.0'),
})
export type Health = Static<typeof Health>

export const Readiness = object('Readiness', {
  ready: Type.Literal(true, { description: 'Always true; otherwise the response is a 503.' }),
  checks: Type.Object({
    history: Type.Boolean({ description: 'The history can be read and written.' }),
    ledger: Type.Boolean({ description: 'The ledger of keys can be read and written.' }),
    accepting: Type.Boolean({ description: 'The server has started and is not stopping.' }),
    recording: Type.Optional(
      Type.Boolean({
        description: 'Rows from the venue can be stored. Absent if this process does not record.',
      }),
    ),
  }),
  signup: Type.Object({
    open: Type.Boolean({
      description: 'New accounts can sign up. Never makes the server unready.',
    }),
    reason: Type.Optional(text('Why signup is closed, or currently refused.')),
  }),
  warning: Type.Optional(
    text(
      'Problem of recording, in this process or another, of the clock, or of selling; requests may still be sent.',
      "The venue's feed is down; the recorder keeps trying.",
    ),
  ),
})
export type Readiness = Static<typeof Readiness>
