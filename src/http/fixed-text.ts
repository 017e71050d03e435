/** Texts that stay the same while the process lives, tagged and compressed once, when asked for. */
import { encodedTag, tagOf } from '#src/domain/tag.ts'

import { answerUnchanged } from './data-response.ts'
import { acceptsGzip } from './negotiation.ts'
import type { HeaderTexts } from './response-text.ts'

const MAX_AGE = 'public, max-age=300'

type FixedText = {
  /** A function is called once, at the first request. */
  text: string | (() => string)
  contentType: string
  /** The header of the request by which this text was chosen; it is the `Vary` of the response. */
  chosenBy?: 'Accept'
  policy?: string
  caching?: string
  /** The text in gzip, if it was compressed before. */
  gzipped?: Uint8Array<ArrayBuffer>
}

export function createFixedText(fixed: FixedText) {
  const { text, contentType, chosenBy, policy, caching = MAX_AGE } = fixed
  let made: { plain: Uint8Array<ArrayBuffer>; tag: string } | undefined
  let { gzipped } = fixed
  const headers = {
    'Cache-Control': caching,
    Vary: varyOf(chosenBy),
    ...(policy === undefined ? {} : { 'Content-Security-Policy': policy }),
  }

  return (request: Request): Response => {
    made ??= encode(typeof text === 'string' ? text : text())
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    if (isGzip) gzipped ??= Bun.gzipSync(made.plain)
    const bytes = (isGzip && gzipped) || made.plain
    const etag = `"${encodedTag(made.tag, isGzip)}"`
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

function encode(text: string) {
  const plain = new TextEncoder().encode(text)
  return { plain, tag: tagOf(plain) }
}

const varyOf = (chosenBy: FixedText['chosenBy']): string =>
  [chosenBy, 'Accept-Encoding', 'Origin'].filter((name) => name !== undefined).join(', ')

export const fixedTextHeaders = ({
  chosenBy,
  policy,
}: Pick<FixedText, 'chosenBy' | 'policy'>): HeaderTexts => ({
  'Cache-Control': `\`${MAX_AGE}\`.`,
  Vary: `\`${varyOf(chosenBy)}\`.`,
  ...(policy === undefined ? {} : { 'Content-Security-Policy': 'Of the page.' }),
})
