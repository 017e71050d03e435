/** Bytes as they are, to a server of this machine: what no client library would send. */
import { connect } from 'node:net'

/** How long the server may take to answer, and how long we listen for a second answer. */
const ANSWER_MS = 4_000
const QUIET_MS = 250

/** Sends bytes and returns all that comes back until the server closes, or says no more. */
export function exchange(port: number, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
  socket.setTimeout(ANSWER_MS, () => socket.destroy())
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    socket.setTimeout(QUIET_MS)
  })
  // A server that closes in the middle of what we send is an answer too.
  socket.on('error', () => socket.destroy())
  socket.on('close', () => resolve(text))
  return promise
}

export const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
