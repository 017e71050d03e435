/**
 * Gives the memory of bytes back at once, because the engine would keep a hundred megabytes where
 * hundreds a second pass through. Every view of the same buffer is empty from then on.
 */
export function release({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
