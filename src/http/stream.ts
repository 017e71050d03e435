/**
 * Bodies that are made while they are sent. A piece is made when the client has read the pieces
 * before it, so a body takes the memory of one piece. When the client leaves, the work ends.
 */
import { type SentBody, withEnding } from './call.ts'

/** A stream whose client reads nothing for so long is closed. */
export const STREAM_SECONDS_MAX = 60

/** The bytes that were handed to the connection, and the fault that ended the body early. */
type BodyEnd = { bytes: number; isWhole: boolean; error?: unknown }

/** Takes pieces, which then belong to the stream, and the end of the body. */
export type Sink = {
  /** Returns true if the client has read all earlier pieces and waits for more. */
  put(piece: Uint8Array): boolean
  /** Counts the bytes that were put. Counting each small piece of a thousand followers is costly. */
  count(): void
  /** If there is an error, closes the connection early, so that no client takes a part for the whole. */
  end(error?: unknown): void
}

/** `pull` asks for one piece, or the end, now or later; `cancel` is called when the client is gone. */
export type Pieces = {
  pull(sink: Sink): void | Promise<void>
  cancel(): void | Promise<void>
}

export type BodyStream = {
  headers: Record<string, string>
  pieces: Pieces
  onEnd: (end: BodyEnd) => void
}

/** A class of numbers, as a thousand followers are written to at once: less of each is touched. */
class BodySink implements Sink {
  readonly #sent: SentBody
  readonly #onEnd: (end: BodyEnd) => void
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  #bytes = 0
  #counted = 0
  #isOver = false
  #fault: unknown
  #isWhole = false

  constructor(
    controller: ReadableStreamDefaultController<Uint8Array>,
    sent: SentBody,
    onEnd: (end: BodyEnd) => void,
  ) {
    this.#controller = controller
    this.#sent = sent
    this.#onEnd = onEnd
  }

  put(piece: Uint8Array): boolean {
    if (this.#isOver) return false
    this.#bytes += piece.length
    this.#controller.enqueue(piece)
    return this.#controller.desiredSize === 0
  }

  count(): void {
    const more = this.#bytes - this.#counted
    this.#counted = this.#bytes
    if (more > 0) this.#sent.onPiece(more)
  }

  end(error?: unknown): void {
    if (this.#isOver) return
    this.#isWhole = error === undefined
    this.#fault = error
    if (this.#isWhole) this.#controller.close()
    else this.#controller.error(error)
    this.stop()
    this.finish()
  }

  /** Takes nothing more. */
  stop(): void {
    this.#isOver = true
  }

  finish(): void {
    this.count()
    this.#onEnd({ bytes: this.#bytes, isWhole: this.#isWhole, error: this.#fault })
  }
}

/** Counts the body piece by piece; the access log gets its line when the body has ended. */
export function streamResponse({ headers, pieces, onEnd }: BodyStream): Response {
  const ended = Promise.withResolvers<BodyEnd>()
  const sent: SentBody = { ended: ended.promise, onPiece() {} }
  let sink: BodySink | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sink = new BodySink(controller, sent, (end) => {
          onEnd(end)
          ended.resolve(end)
        })
      },
      pull: () => sink && pieces.pull(sink),
      async cancel() {
        sink?.stop()
        await pieces.cancel()
        sink?.finish()
      },
    },
    // Nothing is made before it is asked for.
    { highWaterMark: 0 },
  )
  return withEnding(new Response(body, { headers }), { stream: sent })
}

/** Pieces that are made one after the other. */
export const piecesFrom = (made: AsyncGenerator<Uint8Array, void, undefined>): Pieces => ({
  async pull(sink) {
    try {
      const { done, value } = await made.next()
      if (done) sink.end()
      else {
        sink.put(value)
        sink.count()
      }
    } catch (error) {
      sink.end(error)
    }
  },
  async cancel() {
    await made.return()
  },
})
