/** Finished pages in memory, of all routes that know the tag of a page before they make it. */
import { createCache } from './cache.ts'
import { RecentSet } from './recent-set.ts'

/** A page as it is sent; `tag` is unique to the body, and fit for an `ETag`. */
export type Page = { tag: string; body: Uint8Array<ArrayBuffer>; resumeCursor: string }

/** Tags remembered of pages that were made once: only the second time is one worth keeping. */
const ASKED_ONCE_MAX = 16_384
/** A page's share at most, or pages that are not compressed would turn out all others. */
const PAGES_LEAST = 256
/** What a kept page weighs besides its body. */
const ENTRY_BYTES = 512

/** Keeps pages that were made twice, `bytesMax` of them; 0 keeps none. */
export function createPageCache(bytesMax: number) {
  const pages = createCache<string, Page>(bytesMax)
  const bodyBytesMax = bytesMax / PAGES_LEAST
  const askedOnce = new RecentSet(ASKED_ONCE_MAX)

  return {
    find: (tag: string): Page | undefined => pages.get(tag),

    /** Returns the page, whose body may be another's soon, or what is kept of it. */
    put(made: Page): Page {
      if (made.body.length > bodyBytesMax) return made
      if (!askedOnce.has(made.tag)) {
        askedOnce.add(made.tag)
        return made
      }
      const copy = { ...made, body: made.body.slice() }
      pages.set(copy.tag, copy, { size: copy.body.length + ENTRY_BYTES })
      return copy
    },
  }
}

export type PageCache = ReturnType<typeof createPageCache>
