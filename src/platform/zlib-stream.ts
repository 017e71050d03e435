/**
 * Messages that continue one zlib stream (RFC 1950). Each has the bytes up to a sync flush, so it ends
 * in 00 00 FF FF and can be inflated as it comes. Compressing runs beside this thread.
 */
import { constants, createDeflate } from 'node:zlib'

/**
 * Level 6 is content with a match of 128 bytes, so it often refers to an older book than the last
 * one; level 7 looks for 256. A stream takes some 160 kB.
 */
const SETTINGS = { level: 7, windowBits: 15, memLevel: 6, flush: constants.Z_SYNC_FLUSH }

export type ZlibStream = ReturnType<typeof createZlibStream>

/** `onMessage` gets each message whole, in the order of `write`. */
export function createZlibStream(
  onMessage: (message: Uint8Array<ArrayBuffer>) => void,
  onFault: (error: unknown) => void,
) {
  const deflate = createDeflate(SETTINGS)
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let waiting = 0
  let isClosed = false
  deflate.on('data', (piece: Uint8Array<ArrayBuffer>) => pieces.push(piece))
  deflate.on('error', onFault)

  return {
    write(text: string): void {
      if (isClosed) return
      waiting += text.length
      deflate.write(text, () => {
        waiting -= text.length
        const message = Buffer.concat(pieces)
        pieces = []
        if (!isClosed) onMessage(message)
      })
    },

    /** The length of texts that are not compressed yet. */
    waiting: (): number => waiting,

    close(): void {
      isClosed = true
      deflate.destroy()
    },
  }
}
