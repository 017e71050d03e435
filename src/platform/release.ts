/** Memory of buffers outside the engine's heap. */

/**
 * Frees the memory of a buffer at once: the engine would hold a hundred megabytes if hundreds of
 * buffers a second pass through. All views of the buffer are empty afterwards.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/**
 * The allocated size of a buffer of 1 to 2^31 bytes: mimalloc has four size classes per power of
 * two, so at most a fifth is unused.
 */
export function allocatedBytes(bytes: number): number {
  const step = 1 << Math.max(0, 29 - Math.clz32(bytes))
  return Math.ceil(bytes / step) * step
}
