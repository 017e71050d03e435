import { Elysia } from 'elysia'

import { preferredType } from '#src/http/media-type.ts'
import { commonHeaders, textHeader } from '#src/http/openapi-operation.ts'

import errorsText from '../../../docs/errors.md' with { type: 'text' }
import llmsText from '../../../docs/llms.txt' with { type: 'text' }

const MAX_AGE = 'public, max-age=300'

const errorTypes = {
  markdown: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
}

/** Serves the page that the `type` of every problem points to, docs/errors.md itself, and docs/llms.txt for agents. */
export const documentation = () => {
  const html = toPage('Errors', errorsText)
  return new Elysia({ name: 'documentation' })
    .get(
      '/errors',
      ({ request }) =>
        preferredType(request, errorTypes, 'markdown') === 'html'
          ? answer(html, errorTypes.html)
          : answer(errorsText, errorTypes.markdown),
      { detail: errorsDetail },
    )
    .get('/llms.txt', () => answer(llmsText, 'text/plain; charset=utf-8'), { detail: llmsDetail })
}

const answer = (body: string, contentType: string) =>
  new Response(body, {
    headers: {
      'Content-Type': contentType,
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': MAX_AGE,
      Vary: 'Accept',
    },
  })

const text = { schema: { type: 'string' as const } }

const headers = {
  ...commonHeaders,
  'Cache-Control': textHeader('`public, max-age=300`.'),
  Vary: textHeader('`Accept`.'),
}

const llmsDetail = {
  tags: ['documentation'],
  operationId: 'getLlmsText',
  summary: 'The service in one page, for agents',
  description:
    'Markdown as llmstxt.org has it: what there is, what to know, which route answers what.',
  responses: { 200: { description: 'The page.', headers, content: { 'text/plain': text } } },
}

const errorsDetail = {
  tags: ['documentation'],
  operationId: 'getErrors',
  summary: 'What each error code means, and what to do',
  description: 'Markdown, or a page for a browser. The `type` of a problem points into it.',
  responses: {
    200: {
      description: 'One heading a code.',
      headers,
      content: { 'text/markdown': text, 'text/html': text },
    },
  },
}

/** Headings of codes get the code as their anchor; Bun's own would drop the underscores. */
function toPage(title: string, markdown: string): string {
  const body = Bun.markdown.html(markdown).replace(/<h2>(\w+)<\/h2>/g, '<h2 id="$1">$1</h2>')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Bookfeed</title>
<style>
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif }
  pre { padding: 1rem; overflow: auto; background: #f4f4f5 }
  :target { background: #fef3c7 }
</style>
${body}`
}
