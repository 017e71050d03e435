/** Finished pages in memory, of all routes that know the tag of a page before they make it. */
import { createCache } from './cache.ts'
import { allocatedBytes } from './release.ts'

/** A page as it is made; `tag` is unique to the body, and fit for an `ETag`. */
export type MadePage = {
  tag: string
  body: Uint8Array<ArrayBuffer>
  resumeCursor?: string | undefined
}

/** A page as it is sent. One that is kept is a `Blob`, which Bun sends without copying it. */
export type Page = Omit<MadePage, 'body'> & { body: Uint8Array<ArrayBuffer> | Blob }

/** Places for hashes of the tags of pages that were made once; a later one takes its place. */
const MADE_ONCE_MAX = 16_384
/** Where a hash may be: of a single one, pages that are asked for in turn put out each other. */
const PLACES_OF_HASH = 4
/** A page's share at most, or pages that are not compressed would turn out all others. */
const PAGES_LEAST = 256
/** What a kept page weighs besides its body. */
const ENTRY_BYTES = 512

export type PageCache = ReturnType<typeof createPageCache>

/** Keeps pages that were made twice, `bytesMax` of them; 0 keeps none. */
export function createPageCache(bytesMax: number) {
  const pages = createCache<string, Page>(bytesMax)
  const bodyBytesMax = bytesMax / PAGES_LEAST
  const madeOnce = new Uint32Array(MADE_ONCE_MAX)

  /** Of two tags with one hash the other may be kept at once, which is harmless. */
  function isMadeOnce(tag: string): boolean {
    const hash = Bun.hash.xxHash32(tag)
    const start = (hash % (MADE_ONCE_MAX / PLACES_OF_HASH)) * PLACES_OF_HASH
    for (let place = start; place < start + PLACES_OF_HASH; place++)
      if (madeOnce[place] === hash) return false
    // The oldest one goes.
    madeOnce.copyWithin(start + 1, start, start + PLACES_OF_HASH - 1)
    madeOnce[start] = hash
    return true
  }

  return {
    counts: pages.counts,

    find: (tag: string): Page | undefined => pages.get(tag),

    /** Returns the page, whose body may be another's soon, or what is kept of it. */
    put(made: MadePage): Page {
      const { length } = made.body
      if (length > bodyBytesMax || isMadeOnce(made.tag)) return made
      const copy = { ...made, body: new Blob([made.body]) }
      pages.set(copy.tag, copy, { size: allocatedBytes(length) + ENTRY_BYTES })
      return copy
    },
  }
}
