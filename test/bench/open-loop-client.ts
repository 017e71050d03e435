/**
 * Sends requests at a fixed rate, whatever the server does, and times each from the moment when it
 * was due: a request that waits for a connection, or for this client, counts what it waited (no
 * coordinated omission). Prints one JSON object: an `OpenLoopTimes`.
 *
 * Usage: bun open-loop-client.ts <origin> <pathsFile> <skip> <rate> <seconds> <connections> <authorization>
 */

export type OpenLoopTimes = {
  /** Milliseconds of each answered request. */
  times: number[]
  /** Answers that were not 200, and requests without an answer. */
  failures: number
  /** Requests that were sent more than `LATE_MS` after they were due because this client was busy. */
  late: number
}

type Connection = {
  isFree: boolean
  /** When the request on it was due. */
  dueMs: number
  send(text: string): void
}

const [
  origin = '',
  pathsFile = '',
  skip = '0',
  rate = '',
  seconds = '',
  connections = '',
  key = '',
] = process.argv.slice(2)
const { hostname, port, host } = new URL(origin)
const GRACE_MS = 5000
const LATE_MS = 1
const HEADERS_END = Buffer.from('\r\n\r\n')
const OK = 'HTTP/1.1 200'

const paths = (await Bun.file(pathsFile).text()).split('\n').filter(Boolean).slice(Number(skip))
const requestTo = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: gzip\r\nAuthorization: ${key}\r\n\r\n`

const times: number[] = []
let failures = 0
let late = 0

/** One connection that is kept alive; its responses have a `Content-Length`. */
async function connect(): Promise<Connection> {
  const parts: Buffer[] = []
  let received = 0
  /** Bytes of the whole response, once its headers are there. */
  let expected = 0
  let isOk = false
  const connection: Connection = { isFree: true, dueMs: 0, send: (text) => void socket.write(text) }

  function readHeaders(): void {
    const bytes = Buffer.concat(parts)
    const end = bytes.indexOf(HEADERS_END)
    if (end < 0) return
    const headers = bytes.toString('latin1', 0, end)
    isOk = headers.startsWith(OK)
    const length = /^content-length: (\d+)/im.exec(headers)?.[1]
    if (length === undefined) throw new Error(`No Content-Length:\n${headers}`)
    expected = end + HEADERS_END.length + Number(length)
  }

  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        received += bytes.length
        if (expected === 0) {
          parts.push(Buffer.from(bytes))
          readHeaders()
        }
        if (expected === 0 || received < expected) return
        if (isOk) times.push(performance.now() - connection.dueMs)
        else failures++
        parts.length = 0
        received = 0
        expected = 0
        connection.isFree = true
      },
      close() {
        connection.isFree = false
      },
    },
  })
  return connection
}

const all = await Promise.all(Array.from({ length: Number(connections) }, connect))
const count = Math.floor(Number(rate) * Number(seconds))
const startMs = performance.now()
const dueMsOf = (at: number): number => startMs + (at / Number(rate)) * 1000

/** Sends what is due, in order, as long as a connection is free. */
let sent = 0
let turnMs = startMs
while (sent < count && performance.now() < startMs + Number(seconds) * 1000 + GRACE_MS) {
  const nowMs = performance.now()
  const isBusy = nowMs - turnMs > LATE_MS
  turnMs = nowMs
  while (sent < count && dueMsOf(sent) <= nowMs) {
    const free = all.find(({ isFree }) => isFree)
    if (free === undefined) break
    free.isFree = false
    free.dueMs = dueMsOf(sent)
    if (isBusy) late++
    free.send(requestTo(paths[sent % paths.length] ?? ''))
    sent++
  }
  // A timer would wait for a whole millisecond: this core is the client's alone.
  await new Promise((resolve) => setImmediate(resolve))
}
const endMs = performance.now() + GRACE_MS
while (times.length + failures < sent && performance.now() < endMs) await Bun.sleep(1)
failures += count - times.length - failures
console.log(JSON.stringify({ times, failures, late } satisfies OpenLoopTimes))
process.exit(0)
