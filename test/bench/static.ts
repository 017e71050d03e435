/**
 * The ceiling: a Bun server without routes that answers the same paths with the same bytes, which
 * it has fetched from our server before, from memory. Usage: bun static.ts <origin> <pathsFile>
 * <count> <port>
 */
import { benchAuthorization } from './bench-key.ts'

const [origin = '', pathsFile = '', count = '', port = ''] = process.argv.slice(2)

const bodies = new Map<string, Uint8Array<ArrayBuffer>>()
const paths = (await Bun.file(pathsFile).text()).split('\n', Number(count)).filter(Boolean)
for (const path of paths) {
  const response = await fetch(origin + path, {
    headers: { 'accept-encoding': 'gzip', authorization: benchAuthorization },
    decompress: false,
  })
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  bodies.set(path, new Uint8Array(await response.arrayBuffer()))
}

const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  fetch({ url }) {
    const path = url.slice(url.indexOf('/', 'http://'.length))
    if (path === '/healthz') return new Response('ok')
    const body = bodies.get(path)
    return body ? new Response(body, { headers }) : new Response(null, { status: 404 })
  },
})
