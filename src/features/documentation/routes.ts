import { Elysia } from 'elysia'

import type { Coin } from '#src/domain/market.ts'
import { toIsoDay } from '#src/domain/time.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { Api } from '#src/http/api.ts'
import type { ExampleDay } from '#src/http/fields.ts'
import { createFixedText, fixedTextHeaders } from '#src/http/fixed-text.ts'
import { preferredType } from '#src/http/negotiation.ts'
import type { HeldExamples } from '#src/http/swagger.ts'

import errorsText from '../../../docs/errors.md' with { type: 'text' }
import llmsText from '../../../docs/llms.txt' with { type: 'text' }

const types = { markdown: 'text/markdown; charset=utf-8', html: 'text/html; charset=utf-8' }

const STYLE = `
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif }
  pre { padding: 1rem; overflow: auto; background: #f4f4f5 }
  :target { background: #fef3c7 }
`
/** The page loads nothing and runs nothing; its only style is allowed by its hash. */
const POLICY = `default-src 'none'; style-src 'sha256-${new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const negotiated = { chosenBy: 'Accept', policy: POLICY } as const

const text = { schema: { type: 'string' as const } }

/** Serves docs/errors.md, which the `type` of every problem points to, and docs/llms.txt. */
export const documentationRoutes = (api: Api) => {
  const errors = {
    markdown: createFixedText({ text: errorsText, contentType: types.markdown, ...negotiated }),
    html: createFixedText({ text: errorsPage, contentType: types.html, ...negotiated }),
  }
  const llms = createFixedText({ text: llmsText, contentType: 'text/plain; charset=utf-8' })
  return new Elysia({ name: 'documentation' })
    .use(api)
    .get('/errors', ({ request }) => errors[preferredType(request, types, 'markdown')](request), {
      openTo: 'none',
      caching: 'tag',
      answers: {
        description: 'A heading for each code.',
        content: { 'text/markdown': text, 'text/html': text },
        headers: fixedTextHeaders(negotiated),
      },
      detail: {
        operationId: 'getErrors',
        summary: 'List the error codes',
        description:
          'Markdown, or HTML for a browser. The `type` of a problem links to its heading.',
        tags: ['documentation'],
      },
    })
    .get('/llms.txt', ({ request }) => llms(request), {
      openTo: 'none',
      caching: 'tag',
      answers: {
        description: 'The page.',
        content: { 'text/plain': text },
        headers: fixedTextHeaders({}),
      },
      detail: {
        operationId: 'getLlmsText',
        summary: 'Get a summary of the service for agents',
        description: 'Markdown in the format of llmstxt.org: contents, basics and all routes.',
        tags: ['documentation'],
      },
    })
}

/** Uses each code as the anchor of its heading; Bun's own anchors drop underscores. */
function errorsPage(): string {
  const body = Bun.markdown.html(errorsText).replace(/<h2>(\w+)<\/h2>/g, '<h2 id="$1">$1</h2>')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors · Bookfeed</title>
<style>${STYLE}</style>
${body}`
}

/** Days with data: the coins that have files, and the files of a coin's newest day. */
export type HeldDays = {
  coins?: readonly Coin[]
  dayOf: (coin: Coin) => Partial<ExampleDay>
}

/** Values for the examples of the API document, taken from recorded data. */
export function findExamples(
  history: Parameters<typeof findExampleMarket>[0],
  days: readonly HeldDays[],
): HeldExamples {
  // Prefers a coin with files, because the path of a file contains coin and day.
  const preferred = days.flatMap(({ coins = [] }) => coins)
  const market = findExampleMarket(history, preferred) ?? findExampleMarket(history)
  if (market === undefined) return {}
  const { coin, timeframe, conditionId, spans, orderMs } = market
  const known = [spans.up, spans.down].filter((span) => span !== undefined)
  // The middle of the time in which both outcomes are recorded: both sides of a book are likely.
  const firstMs = Math.max(...known.map((span) => span.firstMs))
  const lastMs = Math.min(...known.map((span) => span.lastMs))
  const tsMs = Math.floor(firstMs + Math.max(0, lastMs - firstMs) / 2)
  const example = { coin, timeframe, conditionId, tsMs, day: toIsoDay(orderMs) }
  return { market: example, day: Object.assign({}, ...days.map(({ dayOf }) => dayOf(coin))) }
}
