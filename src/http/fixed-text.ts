/** Texts that stay the same while the process lives: tagged and compressed once, when they are first asked for. */
import { acceptsGzip } from './content-coding.ts'
import {
  answerUnchanged,
  cachingHeaderTexts,
  dataHeaderTexts,
  digestOf,
  notModified,
} from './data-response.ts'
import { commonHeaders, type OpenApiHeader, textHeader } from './openapi-operation.ts'

const MAX_AGE = 'public, max-age=300'

export type FixedText = {
  text: string
  contentType: string
  /** Header of the request that chose it among others. */
  chosenBy?: 'Accept'
  /** Its Content-Security-Policy. */
  policy?: string
}

/** Returns what answers a request for a text. */
export function createFixedText({ text, contentType, chosenBy, policy }: FixedText) {
  let plain: Coded | undefined
  let gzipped: Coded | undefined
  const headers = {
    'Cache-Control': MAX_AGE,
    Vary: varyOf(chosenBy),
    ...(policy === undefined ? {} : { 'Content-Security-Policy': policy }),
  }

  return (request: Request): Response => {
    plain ??= code(text)
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    if (isGzip) gzipped ??= compressed(plain)
    const { bytes, etag } = (isGzip && gzipped) || plain
    const unchanged = answerUnchanged(request, etag, headers)
    if (unchanged !== undefined) return unchanged
    return new Response(bytes, {
      headers: {
        'Content-Type': contentType,
        'Content-Length': String(bytes.length),
        ...headers,
        ETag: etag,
        ...(isGzip ? { 'Content-Encoding': 'gzip' } : {}),
      },
    })
  }
}

type Coded = { bytes: Uint8Array<ArrayBuffer>; etag: string }

function code(text: string): Coded {
  const bytes = new TextEncoder().encode(text)
  return { bytes, etag: `"${digestOf(bytes)}"` }
}

const compressed = ({ bytes, etag }: Coded): Coded => ({
  bytes: Bun.gzipSync(bytes),
  etag: etag.replace(/"$/, '.gzip"'),
})

const varyOf = (chosenBy: FixedText['chosenBy']): string =>
  [chosenBy, 'Accept-Encoding'].filter((name) => name !== undefined).join(', ')

/** The answers of such a route for the documentation. */
export function fixedTextResponses(
  description: string,
  content: Record<string, { schema: { type: 'string' } }>,
  { chosenBy, policy }: Pick<FixedText, 'chosenBy' | 'policy'> = {},
) {
  const headers: Record<string, OpenApiHeader> = {
    ...commonHeaders,
    ...cachingHeaderTexts,
    'Cache-Control': textHeader(`\`${MAX_AGE}\`.`),
    Vary: textHeader(`\`${varyOf(chosenBy)}\`.`),
    ...(policy === undefined ? {} : { 'Content-Security-Policy': textHeader('Of the page.') }),
  }
  return {
    200: { description, headers: { ...dataHeaderTexts, ...headers }, content },
    304: { description: notModified()[304].description, headers },
  }
}
