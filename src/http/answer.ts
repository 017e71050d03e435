/** What the handler of a data route returns, which \`data-response\` sends. */

import type { MadePage, Page } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

export type Bytes = Uint8Array<ArrayBuffer>

/** Headers that only some routes have. */
export type Notes = {
  coverage?: string | undefined
  resumeCursor?: string | undefined
  /** Of a list that is no JSON. */
  nextCursor?: string | undefined
  /** Where it depends on more than the usual. */
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
  join?: () => Steps<Page> | undefined
  /** JSON in ASCII, not compressed; under another tag where its rows have just changed. */
  make: () => Steps<MadePage>
  /** Where the same answer may be given again: what was sent, and its headers to copy. */
  sent?: { page: Page | undefined; init: ResponseInit }
}
