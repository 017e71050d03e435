/** An in-memory cache of finished pages, for routes that know a page's tag before they make it. */
import { createCache } from './cache.ts'
import { allocatedBytes } from './release.ts'

/** A finished page; `tag` is unique to the body, and can serve as `ETag`. */
export type MadePage = {
  tag: string
  body: Uint8Array<ArrayBuffer>
  resumeCursor?: string | undefined
}

/** A page to send. A cached one is a `Blob`, which Bun sends without copying it. */
export type Page = Omit<MadePage, 'body'> & { body: Uint8Array<ArrayBuffer> | Blob }

/** Slots for the hashes of tags whose page was made once; new hashes replace old ones. */
const MADE_ONCE_MAX = 16_384
/** Slots per hash: with a single one, pages requested in turn would evict each other. */
const PLACES_OF_HASH = 4
/**
 * The cache has room for this many pages at least. A larger page is not kept, because a few pages
 * without compression would evict all others.
 */
const PAGES_LEAST = 256
/** Overhead of a cached page besides its body. */
const ENTRY_BYTES = 512

export type PageCache = ReturnType<typeof createPageCache>

/** Caches pages from the second time they are made, up to `bytesMax` bytes; 0 caches none. */
export function createPageCache(bytesMax: number) {
  const pages = createCache<string, Page>(bytesMax)
  const bodyBytesMax = bytesMax / PAGES_LEAST
  const madeOnce = new Uint32Array(MADE_ONCE_MAX)

  /** Two tags with the same hash are harmless: the second page is cached a little early. */
  function isMadeOnce(tag: string): boolean {
    const hash = Bun.hash.xxHash32(tag)
    const start = (hash % (MADE_ONCE_MAX / PLACES_OF_HASH)) * PLACES_OF_HASH
    for (let place = start; place < start + PLACES_OF_HASH; place++)
      if (madeOnce[place] === hash) return false
    // The oldest slot is dropped.
    madeOnce.copyWithin(start + 1, start, start + PLACES_OF_HASH - 1)
    madeOnce[start] = hash
    return true
  }

  return {
    counts: pages.counts,

    find: (tag: string): Page | undefined => pages.get(tag),

    /** Returns the page itself, whose buffer the caller may reuse soon, or its cached copy. */
    put(made: MadePage): Page {
      const { length } = made.body
      if (length > bodyBytesMax || isMadeOnce(made.tag)) return made
      const copy = { ...made, body: new Blob([made.body]) }
      pages.set(copy.tag, copy, { size: allocatedBytes(length) + ENTRY_BYTES })
      return copy
    },
  }
}
