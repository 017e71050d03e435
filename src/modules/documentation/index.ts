import { DAY_MS, toIso } from '#src/core/time.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { ExampleMarket } from '#src/http/fields.ts'
import { createFixedText, fixedTextHeaders } from '#src/http/fixed-text.ts'
import { preferredType } from '#src/http/negotiation.ts'
import { route } from '#src/http/route.ts'

import errorsText from '../../../docs/errors.md' with { type: 'text' }
import llmsText from '../../../docs/llms.txt' with { type: 'text' }

const types = { markdown: 'text/markdown; charset=utf-8', html: 'text/html; charset=utf-8' }

const STYLE = `
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif }
  pre { padding: 1rem; overflow: auto; background: #f4f4f5 }
  :target { background: #fef3c7 }
`
/** A page loads nothing, runs nothing, and has one style, which is known by its hash. */
const POLICY = `default-src 'none'; style-src 'sha256-${new Bun.CryptoHasher('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const negotiated = { chosenBy: 'Accept', policy: POLICY } as const

const text = { schema: { type: 'string' as const } }

/** Serves docs/errors.md, which the `type` of every problem points to, and docs/llms.txt. */
export const documentationRoutes = () => {
  const errors = {
    markdown: createFixedText({ text: errorsText, contentType: types.markdown, ...negotiated }),
    html: createFixedText({ text: errorsPage, contentType: types.html, ...negotiated }),
  }
  const llms = createFixedText({ text: llmsText, contentType: 'text/plain; charset=utf-8' })
  return [
    route({
      path: '/errors',
      access: 'none',
      tag: 'documentation',
      operationId: 'getErrors',
      summary: 'What each error code means, and what to do',
      description: 'Markdown, or a page for a browser. The `type` of a problem points into it.',
      ok: {
        description: 'One heading a code.',
        content: { 'text/markdown': text, 'text/html': text },
        headers: fixedTextHeaders(negotiated),
      },
      caching: 'tag',
      answer: ({ request }) => errors[preferredType(request, types, 'markdown')](request),
    }),
    route({
      path: '/llms.txt',
      access: 'none',
      tag: 'documentation',
      operationId: 'getLlmsText',
      summary: 'The service in one page, for agents',
      description:
        'Markdown as llmstxt.org has it: what there is, what to know, which route answers what.',
      ok: {
        description: 'The page.',
        content: { 'text/plain': text },
        headers: fixedTextHeaders({}),
      },
      caching: 'tag',
      answer: ({ request }) => llms(request),
    }),
  ]
}

/** Headings of codes get the code as their anchor; Bun's own would drop the underscores. */
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

/** What the examples are about; its moment is the first at which every held outcome has a book. */
export function findExample(
  history: Parameters<typeof findExampleMarket>[0],
): ExampleMarket | undefined {
  const market = findExampleMarket(history)
  if (market === undefined) return undefined
  const { coin, timeframe, conditionId, spans, orderMs } = market
  const tsMs = Math.max(spans.up?.firstMs ?? 0, spans.down?.firstMs ?? 0)
  const day = toIso(orderMs - (orderMs % DAY_MS)).slice(0, 'YYYY-MM-DD'.length)
  return { coin, timeframe, conditionId, tsMs, day }
}
