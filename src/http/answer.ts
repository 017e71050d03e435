/** Results of handlers of data routes, which `data-response` sends. */

import { encodedTag, tagOf } from '#src/domain/tag.ts'
import type { MadePage, Page } from '#src/platform/page-cache.ts'
import { mediaTypes } from '#src/tables/column.ts'

export type Bytes = Uint8Array<ArrayBuffer>

/** Headers that only some routes have. */
export type Notes = {
  coverage?: string | undefined
  resumeCursor?: string | undefined
  /** The cursor of a list that is not JSON. */
  nextCursor?: string | undefined
  /** The header `Vary`, if the response depends on more headers than usual. */
  vary?: string | undefined
}

export type DataAnswer = Notes & {
  body: string | Bytes
  /** JSON by default; Parquet is compressed inside. */
  mediaType?: string
  /** Made of a page of a market, whose 304 has no cursor. */
  isOfPage?: boolean
  /** Nothing but a backfill can change it; by default, whether the market of the path is closed. */
  isClosed?: boolean | undefined
  /** The version that decided the rows of a page of a market. */
  version?: number | string | undefined
}

/** Data as it is sent: in its coding, with the digest of what is coded. */
export type PackedAnswer = Omit<DataAnswer, 'body'> & {
  body: Bytes
  isGzip: boolean
  /** The tag of the coded body, which is another representation. */
  tag: string
}

/** Shorter bodies do not get shorter. */
const GZIP_BYTES_MIN = 256
/** The level that costs least. */
const GZIP_LEVEL = 1

/** Codes data. `isPage`: whether it is sent under the tag of a page, which says that it is coded. */
export function pack(answer: DataAnswer, acceptsGzip: boolean, isPage = false): PackedAnswer {
  const { body, mediaType } = answer
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const isGzip =
    acceptsGzip && (isPage || (bytes.length >= GZIP_BYTES_MIN && mediaType !== mediaTypes.parquet))
  const packed = isGzip ? Bun.gzipSync(bytes, { level: GZIP_LEVEL, library: 'libdeflate' }) : bytes
  return { ...answer, body: packed, isGzip, tag: encodedTag(tagOf(bytes), isGzip) }
}

export type PageAnswer = Pick<Notes, 'vary'> & {
  /** Decides the bytes of the page, their coding included, before they are made. */
  tag: string
  isGzip: boolean
  isClosed: boolean
  coverage: string
  /** A finished page that can be had at once. */
  findPage: () => Page | undefined
  /** Makes a page as it is sent, if its rows only have to be fetched and joined. */
  join?: () => Promise<Page> | undefined
  /** Makes it as it is sent; under another tag where its rows have just changed. */
  make: (request: Request) => Promise<MadePage>
  /** The page that was sent last and its headers to copy, if the same response may be sent again. */
  sent?: { page: Page | undefined; init: ResponseInit }
}
