import { randomInt } from 'node:crypto'

/** Below those that the system gives to whoever asks for any port, and to connections. */
const [PORT_MIN, PORT_MAX] = [20_000, 32_000]

/** A free port of loopback, for a program that cannot report which port it took. */
export function findFreePort(): number {
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_MAX)
    try {
      const server = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() })
      void server.stop(true)
      return port
    } catch {
      // Somebody listens there.
    }
  }
}
