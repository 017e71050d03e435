import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a server, which may be replaced, that cuts connections to it. */
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
  /** Writes each piece `latencyMs` after its arrival, in order. */
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
      // Bytes after the quota are lost, in the middle of a frame.
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
    /**
     * The number of times that a client has sent something after a response: with a lag, its round
     * trips.
     */
    get turns() {
      return turns
    },
    /**
     * Limits the bytes of responses of the next connections, one value each; later ones are
     * unlimited.
     */
    allow: (...bytes: number[]): number => quotas.push(...bytes),
    cut,
    /** Keeps existing connections open and silent in both directions. */
    freeze(): void {
      for (const socket of sockets) socket.removeAllListeners('data').pause()
    },
    /** Delays the first byte of the next connections. */
    delay(ms: number): void {
      connectMs = ms
    },
    /** Delays everything in both directions from now on. */
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
