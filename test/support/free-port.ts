/** A free port of loopback, for a program that cannot report which port it took. */
export function findFreePort(): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  if (port === undefined) throw new Error('No free port')
  return port
}
