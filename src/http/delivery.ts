/**
 * Learns whether a whole body was handed to its connection. Bun asks a stream for its next piece
 * once the connection has taken the one before, and cancels it when the client is gone, also when
 * the client left before there was an answer. A fixed body says neither.
 */

/** A body is handed over in pieces of this size. */
const PIECE_BYTES = 64 * 1024

/** Returns the same response; `onEnd` is called once, with true if the connection took the whole body. */
export async function trackDelivery(
  response: Response,
  onEnd: (isWhole: boolean) => void,
): Promise<Response> {
  const { status, headers } = response
  const bytes = response.body === null ? undefined : new Uint8Array(await response.arrayBuffer())
  if (bytes === undefined || bytes.length === 0) {
    onEnd(true)
    return new Response(null, { status, headers })
  }
  return new Response(trackedBody(bytes, onEnd), { status, headers })
}

function trackedBody(bytes: Uint8Array, onEnd: (isWhole: boolean) => void): ReadableStream {
  let sentBytes = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sentBytes < bytes.length) {
          controller.enqueue(bytes.slice(sentBytes, sentBytes + PIECE_BYTES))
          sentBytes += PIECE_BYTES
          return
        }
        controller.close()
        onEnd(true)
      },
      cancel: () => onEnd(false),
    },
    { highWaterMark: 0 },
  )
}
