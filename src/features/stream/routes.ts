import { createFixedText, fixedTextHeaders } from '#src/http/fixed-text.ts'
import { route } from '#src/http/route.ts'

import { asyncApiDocument } from './asyncapi.ts'
import { type RowSchemas, StreamDocument } from './schema.ts'

/** The document of `GET /v1/stream`, which is no route: it is a WebSocket. */
export const streamDocumentRoutes = (version: string, rows: RowSchemas) => {
  const text = () => JSON.stringify(asyncApiDocument(version, rows))
  const answer = createFixedText({ text, contentType: 'application/json' })
  return [
    route({
      path: '/asyncapi.json',
      access: 'none',
      tag: 'documentation',
      operationId: 'getStreamDocument',
      summary: 'The live stream (WebSocket) as an AsyncAPI document',
      description:
        'Every operation and message of GET /v1/stream with its schema, as AsyncAPI 3.0 has it.',
      ok: {
        description: 'The document.',
        schema: StreamDocument,
        headers: fixedTextHeaders({}),
      },
      caching: 'tag',
      answer: ({ request }) => answer(request),
    }),
  ]
}
