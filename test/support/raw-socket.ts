/** Raw bytes to a local server, which no client library would send. */
import { connect } from 'node:net'

/** The time limit of a response, and of listening for a second one. */
const ANSWER_MS = 60_000
const QUIET_MS = 250

/** Sends bytes and returns the response until the server closes or becomes silent. */
export function exchange(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
  socket.setTimeout(ANSWER_MS, () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    socket.setTimeout(QUIET_MS)
  })
  // A server that closes while we send has responded too.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => resolve(text))
  return promise
}

export const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
