import { LRUCache } from 'lru-cache'

/** A cache bounded by the sum of the sizes given to `set`; the longest unused go first. */
export const createCache = <Key extends {}, Value extends {}>(sizeMax: number) =>
  // The library takes 0 for "no bound"; into 1 nothing fits that is counted in bytes.
  new LRUCache<Key, Value>({ maxSize: Math.max(1, sizeMax) })
