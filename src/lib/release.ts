/**
 * Gives the memory of bytes back at once. Where hundreds of megabytes a second pass through, the
 * engine, which collects them late, keeps a hundred. Every view of the same buffer is empty from
 * then on.
 */
export function release({ buffer }: ArrayBufferView): void {
  // Detaches it: its content goes to a buffer of no length, which is to say nowhere.
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
