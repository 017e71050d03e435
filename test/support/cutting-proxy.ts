import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands before a server, which may become another one, and cuts connections to it. */
export async function startCuttingProxy(port: number | (() => number)) {
  const sockets = new Set<Socket>()
  const quotas: number[] = []
  let connections = 0
  let isRefusing = false
  let connectMs = 0
  let latencyMs = 0
  let turns = 0
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  /** Writes each piece `latencyMs` after it came, in the order of their coming. */
  const passTo = (target: Socket) => {
    let sent = Promise.resolve()
    let waiting = 0
    return (bytes: Buffer): void => {
      if (latencyMs === 0 && waiting === 0) return void target.write(bytes)
      waiting++
      const due = Bun.sleep(latencyMs)
      sent = sent.then(async () => {
        await due
        waiting--
        if (!target.destroyed) target.write(bytes)
      })
    }
  }
  const server = createServer((client) => {
    connections++
    if (isRefusing) return client.destroy()
    const upstream = connect(typeof port === 'number' ? port : port(), '127.0.0.1')
    let left = quotas.shift() ?? Number.POSITIVE_INFINITY
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket) && end()).on('error', end)
    }
    const ask = passTo(upstream)
    let isAnswered = true
    const hear = (bytes: Buffer): void => {
      if (isAnswered) turns++
      isAnswered = false
      ask(bytes)
    }
    setTimeout(() => client.on('data', hear), connectMs)
    const answer = passTo(client)
    upstream.on('data', (bytes: Buffer) => {
      isAnswered = true
      // What comes after the quota is lost, in the middle of a frame.
      if (left > 0) answer(bytes.subarray(0, left))
      left -= bytes.length
      if (left <= 0) client.end(end)
    })
    return undefined
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections
    },
    /** How often a client has sent something after an answer: with a lag, its round trips. */
    get turns() {
      return turns
    },
    /** The next connections get so many bytes of answers each; those after them all. */
    allow: (...bytes: number[]): number => quotas.push(...bytes),
    cut,
    /** What is connected now stays so, and says nothing any more to either end. */
    freeze(): void {
      for (const socket of sockets) socket.removeAllListeners('data').pause()
    },
    /** The next connections are silent at first, so long. */
    delay(ms: number): void {
      connectMs = ms
    },
    /** From now on everything comes so much later, in both directions. */
    lag(ms: number): void {
      latencyMs = ms
    },
    refuse(isSo: boolean): void {
      isRefusing = isSo
      if (isSo) cut()
    },
    stop(): void {
      cut()
      server.close()
    },
  }
}
