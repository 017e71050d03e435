/**
 * One request to a server that is not trusted: one deadline for everything from connecting to the last byte,
 * no redirect followed, and an answer that is no longer than it may be.
 */

const ANSWER_BYTES_MAX = 64 * 1024

export type Question = {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string | undefined
  timeoutMs: number
}

/** `status` is told whenever there was one. The body is JSON, or there is a `fault`: a code of ours. */
export type Reply = {
  status?: number | undefined
  body?: unknown
  fault?: string | undefined
}

/** Never rejects. */
export async function exchange({ url, timeoutMs, ...request }: Question): Promise<Reply> {
  const deadline = Promise.withResolvers<never>()
  const stop = new AbortController()
  const timer = setTimeout(() => {
    deadline.reject(new Error('late'))
    stop.abort()
  }, timeoutMs)
  const reply: Reply = {}
  try {
    const answer = read(url, { ...request, redirect: 'manual', signal: stop.signal }, reply)
    await Promise.race([answer, deadline.promise])
  } catch {
    // Whatever the runtime says of it holds the URL, and perhaps a key in that.
    reply.fault ??= stop.signal.aborted ? 'facilitator_timeout' : 'facilitator_unreachable'
  } finally {
    clearTimeout(timer)
    // Nobody waits for the rest of an answer that is no use.
    stop.abort()
  }
  return reply
}

/** Writes what it learns into `reply` as it goes, so that a status is not lost with its body. */
async function read(url: string, init: RequestInit, reply: Reply): Promise<void> {
  const response = await fetch(url, init)
  reply.status = response.status
  if (response.status >= 300 && response.status < 400) {
    reply.fault = 'facilitator_redirect'
    return
  }
  const text = await readText(response)
  if (text === undefined) {
    reply.fault = 'facilitator_answer_too_large'
    return
  }
  try {
    reply.body = JSON.parse(text)
  } catch {
    reply.fault = 'facilitator_answer_invalid'
  }
}

/** Undefined if it is too long; then the rest is not read. */
async function readText(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
