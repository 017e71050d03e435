/** The OpenAPI document at `/swagger/json`: what is said of the service as a whole. */
import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'

import { createFixedText } from './fixed-text.ts'
import type { Components } from './openapi-operation.ts'

const description = `Order-book history of prediction markets.

- Times are UTC; \`from\` is inclusive, \`to\` exclusive. Both are Unix milliseconds, or seconds below 100000000000.
- Lists are paged: hand \`nextCursor\` back as \`cursor\` until it is \`null\`.
- Every failure is a problem document (RFC 9457); branch on its \`code\`. All codes: [/errors](/errors).
- Data needs an API key: \`Authorization: Bearer bf_live_…\`. \`POST /v1/keys/challenge\` begins a signup with a wallet.
- Limits are exact, per key and minute; every response says what is left. Billing has a window of its own.
- Every response carries \`X-Request-Id\`. \`HEAD\` works wherever \`GET\` does.`

const documentation = {
  tags: [
    { name: 'markets', description: 'What is recorded.' },
    { name: 'snapshots', description: 'Full-depth books of one market over time.' },
    { name: 'quotes', description: 'Best bid and ask of one market over time.' },
    { name: 'prices', description: 'Mids and last trades, over time and now.' },
    { name: 'exports', description: 'Markets and days as files.' },
    { name: 'account', description: 'Keys, and what was used.' },
    { name: 'billing', description: 'What is sold, and how it is paid.' },
    { name: 'health', description: 'For load balancers and operators.' },
    { name: 'documentation', description: 'This document and its companions.' },
  ],
  servers: [{ url: '/', description: 'This server.' }],
  security: [],
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http' as const,
        scheme: 'bearer',
        description: 'An API key: `Authorization: Bearer bf_live_…`.',
      },
    },
  },
}

/** Serves the document; its routes are those of the app that uses this, and `components` what they share. */
export const openapi = (version: string, { all }: Components) => {
  // Every route is there by the first request, so the document stays what it is then.
  let answer: ReturnType<typeof createFixedText> | undefined
  return new Elysia({ name: 'openapi' })
    .mapResponse(({ request, responseValue }) => {
      const contentType = 'application/json'
      answer ??= createFixedText({ text: JSON.stringify(responseValue), contentType })
      return answer(request)
    })
    .use(
      swagger({
        provider: 'swagger-ui',
        path: '/swagger',
        // A route is no file because of the dot in its name.
        excludeStaticFile: false,
        documentation: {
          ...documentation,
          components: { ...all, ...documentation.components },
          info: { title: 'Bookfeed', version, description, license: { name: 'UNLICENSED' } },
        },
      }),
    )
}
