/** A port of loopback that nobody listens on now, for a program that cannot say which it took. */
export function findFreePort(): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  if (port === undefined) throw new Error('No free port')
  return port
}
