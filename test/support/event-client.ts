/** Reads streams of server-sent events. */
import { constants, gunzipSync } from 'node:zlib'

/** The text of a body. A body of events may be cut off, but only after a whole event. */
export function textOf(headers: Headers, body: Uint8Array<ArrayBuffer>): string {
  const isGzip = headers.get('content-encoding') === 'gzip'
  const isLive = headers.get('content-type') === 'text/event-stream'
  const options = isLive ? { finishFlush: constants.Z_SYNC_FLUSH } : {}
  const text = new TextDecoder().decode(isGzip ? gunzipSync(body, options) : body)
  if (isLive && !text.endsWith('\n\n')) throw new Error('An event is cut off.')
  return text
}

export type LiveEvent = { name: string; id: string | undefined; data: Record<string, unknown> }

/** The events of a text that ends after a whole event (the used part of WHATWG HTML, 9.2.6). */
export function parseEvents(text: string): LiveEvent[] {
  return text.split('\n\n').flatMap((block) => {
    const fields = new Map(
      block.split('\n').flatMap((line): [string, string][] => {
        const colon = line.indexOf(':')
        return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)]] : []
      }),
    )
    const data = fields.get('data')
    if (data === undefined) return []
    const name = fields.get('event') ?? 'message'
    return [{ name, id: fields.get('id'), data: JSON.parse(data) as LiveEvent['data'] }]
  })
}

/** Follows a response; the events received so far are available at any time. */
export function followEvents(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let isOver = false
  const waiting: (() => void)[] = []
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  async function read(): Promise<void> {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {}
      isOver = done
      text += value ?? ''
      wake()
      if (done) return
    }
  }
  const ended = read().catch(() => {
    isOver = true
    wake()
  })
  const events = () => parseEvents(text.slice(0, text.lastIndexOf('\n\n') + 2))
  return {
    events,
    text: () => text,
    rows: () => events().filter(({ name }) => name === 'row'),
    ended,

    /** Waits until the condition holds or the stream ends. */
    async until(isIt: () => boolean): Promise<void> {
      while (!isIt() && !isOver) await new Promise<void>((resolve) => waiting.push(resolve))
    },

    leave: () => reader?.cancel(),
  }
}
