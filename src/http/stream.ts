/**
 * Bodies that are made while they are sent. A piece is made when the client has taken the ones
 * before, so memory is that of a piece; when the client goes away, the work ends.
 */
import { type SentBody, visitOf } from './gate.ts'

/** How long a client may take nothing of a stream before it is given up. */
export const STREAM_SECONDS_MAX = 60

/** What was handed to the connection, whether it was all, and the fault that broke it off. */
type BodyEnd = { bytes: number; isWhole: boolean; error?: unknown }

export type BodyStream = {
  headers: Record<string, string>
  /**
   * A piece belongs to the stream once it is yielded. `return` is called when the client is gone.
   */
  pieces: Pick<AsyncGenerator<Uint8Array, void, undefined>, 'next' | 'return'>
  onEnd: (end: BodyEnd) => void
}

/** What is sent is counted piece by piece, and the line of the log is written at the end. */
export function streamResponse(request: Request, { headers, pieces, onEnd }: BodyStream): Response {
  const end: BodyEnd = { bytes: 0, isWhole: false }
  const ended = Promise.withResolvers<BodyEnd>()
  const sent: SentBody = { ended: ended.promise, onPiece() {} }
  visitOf(request).body = sent

  let isGone = false
  const finish = () => {
    onEnd(end)
    ended.resolve(end)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next()
          if (isGone) return
          if (done) {
            end.isWhole = true
            controller.close()
            finish()
            return
          }
          end.bytes += value.length
          sent.onPiece(value.length)
          controller.enqueue(value)
        } catch (error) {
          if (isGone) return
          // The connection is cut, so that nobody takes a part for the whole.
          controller.error(error)
          end.error = error
          finish()
        }
      },
      async cancel() {
        isGone = true
        await pieces.return()
        finish()
      },
    },
    // Nothing is made before it is asked for.
    { highWaterMark: 0 },
  )
  return new Response(body, { headers })
}
