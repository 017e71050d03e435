import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import { createFixedText, fixedTextHeaders } from '#src/http/fixed-text.ts'
import { type Promises, STREAM_PATH } from '#src/http/promises.ts'

import { asyncApiDocument } from './asyncapi.ts'
import { type RowSchemas, StreamDocument } from './schema.ts'
import type { StreamService } from './service.ts'

/**
 * `GET /v1/stream`: makes a WebSocket of the request. Its document is AsyncAPI; the API document does
 * not have it. `writeHeaders` writes the headers that every response has.
 */
export const streamRoute = (stream: StreamService, writeHeaders: Promises['writeHeaders']) =>
  new Elysia({ name: 'stream-socket' }).get(STREAM_PATH, ({ request }) => {
    const upgraded = new Response(null)
    writeHeaders(request, upgraded)
    // Bun answers with 101 and these headers.
    stream.upgrade(request, upgraded.headers)
    return upgraded
  })

/** The AsyncAPI document of `GET /v1/stream`. */
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
        summary: 'Get the AsyncAPI document of the live stream',
        description:
          'Every operation and message of GET /v1/stream with its schema, in AsyncAPI 3.0.',
        tags: ['documentation'],
      },
    })
}
