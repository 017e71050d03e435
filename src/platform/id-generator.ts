const BYTES_AT_ONCE = 1024
/** 128 bits. */
const NAME_LENGTH = 32

/**
 * Creates what returns fresh unguessable names, of 32 hexadecimal digits each; `randomBytes` must
 * be fit for secrets. It is asked for many names at once, because each call costs a microsecond.
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
