/**
 * Server-sent events by `fetch`: `EventSource` cannot send a key. After a break it continues from
 * the last event that it got.
 */

import {
  type Problem,
  ProblemError,
  type QueryValues,
  send,
  toProblem,
  unreachable,
} from './api.ts'
import { lostStore } from './connection.ts'

export type ServerEvent = { event: string; data: string }

type Follow = {
  onEvent: (event: ServerEvent) => void
  onState?: (state: 'live' | 'waiting', problem?: Problem) => void
  signal: AbortSignal
}

const WAIT_MS = 1_500
const WAIT_MS_MAX = 30_000

/** Follows until it is aborted or permanently refused. */
export async function followEvents(
  path: string,
  query: QueryValues,
  { onEvent, onState, signal }: Follow,
): Promise<void> {
  let last: string | undefined
  for (let waitMs = WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
    // A lost connection may seem open for minutes.
    const lost = new AbortController()
    const stop = lostStore.subscribe(
      () => lostStore.get() !== undefined && lost.abort(new ProblemError(unreachable)),
    )
    try {
      const headers = last === undefined ? {} : { 'Last-Event-ID': last }
      const connected = AbortSignal.any([signal, lost.signal])
      const response = await send(path, { query, headers, signal: connected })
      onState?.('live')
      waitMs = WAIT_MS
      await readEvents(response, (event, id) => {
        last = id ?? last
        onEvent(event)
      })
    } catch (error) {
      if (signal.aborted) return
      const problem = toProblem(error)
      onState?.('waiting', problem)
      if (error instanceof ProblemError && problem.status >= 400 && problem.status < 429) return
    } finally {
      stop()
    }
    await pause(waitMs, signal)
  }
}

async function readEvents(
  { body }: Response,
  onEvent: (event: ServerEvent, id: string | undefined) => void,
): Promise<void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const piece = await reader?.read()
    if (piece === undefined || piece.done) return
    const texts = (rest + piece.value).split('\n\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      const fields = new Map(text.split('\n').map(toField))
      const event = fields.get('event')
      const data = fields.get('data')
      if (event !== undefined && data !== undefined) onEvent({ event, data }, fields.get('id'))
    }
  }
}

function toField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}

/** Ends early when the server, which could not be reached, answers again. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      stop()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    const stop = lostStore.subscribe(() => lostStore.get() === undefined && end())
    signal.addEventListener('abort', end)
  })
