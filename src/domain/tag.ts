/** Tags of bodies and histories, for use as `ETag` and as cache keys. */
import { createHash } from 'node:crypto'

const TAG_LENGTH = 27
const HISTORY_TAG_LENGTH = 8

export const tagOf = (body: string | Uint8Array): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, TAG_LENGTH)

/** The tag of a body as sent: a compressed body is another representation. */
export const encodedTag = (tag: string, isGzip: boolean): string => (isGzip ? `${tag}.gzip` : tag)

/** Identifies a history in tags: two histories may have markets with equal ids and revisions. */
export const historyTagOf = (cursorKey: Uint8Array): string =>
  tagOf(cursorKey).slice(0, HISTORY_TAG_LENGTH)
