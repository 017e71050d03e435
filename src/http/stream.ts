/**
 * Bodies that are made while they are sent. A piece is made when the client has taken the ones
 * before, so memory is that of a piece; when the client goes away, the work ends.
 */
import { type SentBody, visitOf } from './visit.ts'

/** How long a client may take nothing of a stream before it is given up. */
export const STREAM_SECONDS_MAX = 60

/** What was handed to the connection, whether it was all, and the fault that broke it off. */
type BodyEnd = { bytes: number; isWhole: boolean; error?: unknown }

/** Takes pieces, which belong to the stream from then on, and their end. */
export type Sink = {
  /** Returns whether the client has taken all before it and is to be given more as it comes. */
  put(piece: Uint8Array): boolean
  /** Counts what was put; not done with each piece, as a thousand followers are put a small one. */
  count(): void
  /** With an error the connection is cut, so that no client takes a part for the whole. */
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

/** What is sent is counted piece by piece, and the line of the log is written at the end. */
export function streamResponse(request: Request, { headers, pieces, onEnd }: BodyStream): Response {
  const ended = Promise.withResolvers<BodyEnd>()
  const sent: SentBody = { ended: ended.promise, onPiece() {} }
  visitOf(request).body = sent
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
  return new Response(body, { headers })
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
