/** Generates the AsyncAPI document from the schemas of operations and messages. */
import { isRecord } from '#src/platform/record.ts'

import { closeCodes, operationSchemas, type RowSchemas, serverMessages } from './schema.ts'

type Json = Record<string, unknown>

const DESCRIPTION = `Rows as they are recorded, and replays of recorded rows, over one WebSocket. Messages are JSON objects, each in a text frame. docs/live.md has examples.

Send the API key as \`Authorization: Bearer …\` when you connect, or as the first message; never in the URL.

The text \`PING\` is answered with the text \`PONG\`, as the venue does.

The server closes connections with these codes:
${Object.values(closeCodes)
  .map(({ code, text }) => `- ${code}: ${text}`)
  .join('\n')}
- 1009: A message of the client was larger than 16 KiB.`

/** Generates the document, which depends on the version only. */
export function asyncApiDocument(version: string, rows: RowSchemas): Json {
  const schemas: Json = {}
  const received = Object.entries(operationSchemas).map(
    ([op, schema]) => [op, { name: op, payload: hoist(schema, schemas) }] as const,
  )
  const sent = Object.entries(serverMessages(rows)).map(
    ([type, { summary, payload }]) =>
      [`${type}Message`, { name: type, summary, payload: hoist(payload, schemas) }] as const,
  )
  const messages = [...received, ...sent]
  const operationOf = (action: 'receive' | 'send', name: string) => ({
    action,
    channel: { $ref: '#/channels/stream' },
    messages: [{ $ref: `#/channels/stream/messages/${name}` }],
  })
  return {
    asyncapi: '3.0.0',
    info: { title: 'Bookfeed live stream', version, description: DESCRIPTION },
    defaultContentType: 'application/json',
    servers: {
      own: {
        host: '{host}',
        protocol: 'wss',
        variables: { host: { description: 'URL of this document.' } },
        security: [{ $ref: '#/components/securitySchemes/apiKey' }],
      },
    },
    channels: {
      stream: {
        address: '/v1/stream',
        messages: Object.fromEntries(
          messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: Object.fromEntries([
      ...received.map(([name]) => [name, operationOf('receive', name)] as const),
      ...sent.map(([name]) => [name, operationOf('send', name)] as const),
    ]),
    components: {
      messages: Object.fromEntries(messages),
      schemas,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/**
 * Replaces a named schema by a reference to the components, and makes members with a default
 * optional.
 */
function hoist(schema: unknown, schemas: Json): unknown {
  if (Array.isArray(schema)) return schema.map((each) => hoist(each, schemas))
  if (!isRecord(schema)) return schema
  const { $id, ...rest } = schema
  const made: Json = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, hoist(value, schemas)]),
  )
  const { properties, required } = rest
  if (isRecord(properties) && Array.isArray(required)) {
    made.required = required.filter((name: string) => {
      const property = properties[name]
      return !(isRecord(property) && 'default' in property)
    })
  }
  if (typeof $id !== 'string') return made
  schemas[$id] = made
  return { $ref: `#/components/schemas/${$id}` }
}
