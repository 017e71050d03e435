import { type Static, Type } from '@sinclair/typebox'

import { object, text } from '#src/http/fields.ts'

export const Health = object('Health', {
  status: Type.Literal('ok', { description: 'Always `ok`; a dead process does not answer.' }),
  version: text('Version of the server.', '0.1.0'),
})
export type Health = Static<typeof Health>

export const Readiness = object('Readiness', {
  ready: Type.Literal(true, { description: 'Always true; otherwise the answer is a 503.' }),
  checks: Type.Object({
    history: Type.Boolean({ description: 'The history can be read and written.' }),
    ledger: Type.Boolean({ description: 'The ledger of keys can be read and written.' }),
    accepting: Type.Boolean({ description: 'The server has started, and is not about to stop.' }),
    recording: Type.Optional(
      Type.Boolean({
        description:
          'What is heard of the venue can be stored. Absent where this process does not record.',
      }),
    ),
  }),
  signup: Type.Object({
    open: Type.Boolean({
      description: 'New accounts are taken in. Never makes the server unready.',
    }),
    reason: Type.Optional(text('Why signup is closed, or why signups are refused at the moment.')),
  }),
  warning: Type.Optional(
    text(
      'What is wrong with the recording, of this process or another, with the clock, or with selling, though requests may be sent.',
      "The venue's feed is down; the recorder keeps trying.",
    ),
  ),
})
export type Readiness = Static<typeof Readiness>
