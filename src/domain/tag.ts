/** Names of bodies and histories, fit for an `ETag` and for keys of caches. */
import { createHash } from 'node:crypto'

const TAG_LENGTH = 27
const HISTORY_TAG_LENGTH = 8

export const tagOf = (body: string | Uint8Array): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, TAG_LENGTH)

/** The tag of a body as it is sent: compressed, it is another representation. */
export const encodedTag = (tag: string, isGzip: boolean): string => (isGzip ? `${tag}.gzip` : tag)

/** Tells histories apart in tags: their markets may happen to have the same ids and revisions. */
export const historyTagOf = (cursorKey: Uint8Array): string =>
  tagOf(cursorKey).slice(0, HISTORY_TAG_LENGTH)
