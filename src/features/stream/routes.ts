import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import { createFixedText, fixedTextHeaders } from '#src/http/fixed-text.ts'

import { asyncApiDocument } from './asyncapi.ts'
import { type RowSchemas, StreamDocument } from './schema.ts'

/** The document of `GET /v1/stream`, which is no route: it is a WebSocket. */
export const streamDocumentRoutes = (api: Api, version: string, rows: RowSchemas) => {
  const text = () => JSON.stringify(asyncApiDocument(version, rows))
  const answer = createFixedText({ text, contentType: 'application/json' })
  return new Elysia({ name: 'stream' })
    .use(api)
    .get('/asyncapi.json', ({ request }) => answer(request), {
      openTo: 'none',
      caching: 'tag',
      response: { 200: StreamDocument },
      answers: { description: 'The document.', headers: fixedTextHeaders({}) },
      detail: {
        operationId: 'getStreamDocument',
        summary: 'The live stream (WebSocket) as an AsyncAPI document',
        description:
          'Every operation and message of GET /v1/stream with its schema, as AsyncAPI 3.0 has it.',
        tags: ['documentation'],
      },
    })
}
