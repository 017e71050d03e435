/** Streams of pieces on their way to the client. */
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

/** For text that is compressed while it is sent: the level that costs least. */
const GZIP_LEVEL = 1

const NOTHING = new Uint8Array(0)

/** Makes one piece a turn, and passes on those that hold something. */
export async function* inTurns(
  pieces: Generator<Uint8Array>,
  turn: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (;;) {
      await turn()
      const { done, value } = pieces.next()
      if (done) return
      if (value.length > 0) yield value
    }
  } finally {
    pieces.return(undefined)
  }
}

/** One gzip member, compressed in the runtime's thread pool. */
export async function* gzipped(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  // Objects: a piece is taken as it is, and no more than one is waiting.
  const source = Readable.from(pieces, { highWaterMark: 1 })
  const gzip = createGzip({ level: GZIP_LEVEL })
  source.on('error', (error) => gzip.destroy(error))
  // The end comes apart from the last piece, or the bytes would depend on whether both are there at
  // once.
  source.on('end', () => gzip.write(NOTHING, () => gzip.end()))
  try {
    for await (const piece of source.pipe(gzip, { end: false })) yield piece as Uint8Array
  } finally {
    source.destroy()
    gzip.destroy()
  }
}
