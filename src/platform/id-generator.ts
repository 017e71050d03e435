const BYTES_AT_ONCE = 1024
/** 128 bits. */
const NAME_LENGTH = 32

/**
 * Creates a generator of unguessable ids of 32 hexadecimal digits; `randomBytes` must be
 * cryptographically secure. It draws the bytes of many ids at once, because each call costs a
 * microsecond.
 */
export function createIdGenerator(randomBytes: (length: number) => Uint8Array): () => string {
  let digits = ''
  let at = 0
  return () => {
    if (at === digits.length) {
      digits = randomBytes(BYTES_AT_ONCE).toHex()
      at = 0
    }
    at += NAME_LENGTH
    return digits.slice(at - NAME_LENGTH, at)
  }
}
