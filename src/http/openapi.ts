/** The OpenAPI document at `/swagger/json`: what is said of the service as a whole. */
import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'

import { type ExampleMarket, exampleMarket } from './fields.ts'
import { createFixedText } from './fixed-text.ts'
import type { Components } from './openapi-operation.ts'

const description = `Order-book history of prediction markets.

- Times are UTC; \`from\` is inclusive, \`to\` exclusive. Send Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z.
- A market has three names: its \`conditionId\`, its slug, and the id of either of its assets.
- Lists are paged: send \`nextCursor\` as \`cursor\` until it is \`null\`.
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

/** Port: a market that the server holds, if there is one. */
export type FindExample = () => ExampleMarket | undefined

/**
 * Serves the document; its routes are those of the app that uses this, `components` what they
 * share. Its examples are of a market that is held, as soon as there is one, so that they find
 * something.
 */
export const openapi = (version: string, { all }: Components, findExample: FindExample) => {
  let held: ExampleMarket | undefined
  let answer: ReturnType<typeof createFixedText> | undefined
  const contentType = 'application/json'
  return new Elysia({ name: 'openapi' })
    .mapResponse(({ request, responseValue }) => {
      const isNew = held === undefined
      held ??= findExample()
      // Every route is there by the first request, so the document stays what it is then.
      if (answer === undefined || (isNew && held !== undefined)) {
        answer = createFixedText({
          text: showing(held, JSON.stringify(responseValue)),
          contentType,
        })
      }
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

/** Puts a market in the place of that of the examples. */
function showing(held: ExampleMarket | undefined, document: string): string {
  if (held === undefined) return document
  const { coin, timeframe, conditionId, tsMs, day } = exampleMarket
  return document
    .replaceAll(conditionId, held.conditionId)
    .replaceAll(`:${tsMs}`, `:${held.tsMs}`)
    .replaceAll(`"example":"${day}"`, `"example":"${held.day}"`)
    .replaceAll(`"example":"${coin}"`, `"example":"${held.coin}"`)
    .replaceAll(`"example":"${timeframe}"`, `"example":"${held.timeframe}"`)
}
