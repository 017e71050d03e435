/** Memory of bytes outside of the engine's heap. */

/**
 * Gives the memory of bytes back at once, because the engine would keep a hundred megabytes where
 * hundreds a second pass through. Every view of the same buffer is empty from then on.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/**
 * What so many bytes (1 to 2^31) take: mimalloc has four sizes from a power of two to the next, so
 * a fifth at most stays empty.
 */
export function allocatedBytes(bytes: number): number {
  const step = 1 << Math.max(0, 29 - Math.clz32(bytes))
  return Math.ceil(bytes / step) * step
}
