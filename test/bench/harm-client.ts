/**
 * Sends one request again and again from `clients` clients, each over a new connection as soon as
 * the answer before has ended, and prints how many were answered, by status, when its standard
 * input ends.
 * Usage: bun harm-client.ts <origin> <clients> <file of the request>
 */
import { CLIENT } from './harm-requests.ts'

const [origin = '', clients = '1', file = ''] = process.argv.slice(2)
const { hostname, port } = new URL(origin)
const text = await Bun.file(file).text()
const statuses: Record<string, number> = {}
const STATUS = { from: 9, to: 12 }

async function ask(request: Uint8Array): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isFirst = true
  let sent = 0
  const connected = Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        sent = socket.write(request)
      },
      drain(socket) {
        if (sent < request.length) sent += socket.write(request.subarray(sent))
      },
      data(_, bytes) {
        if (!isFirst) return
        isFirst = false
        const status = Buffer.from(bytes.subarray(STATUS.from, STATUS.to)).toString()
        statuses[status] = (statuses[status] ?? 0) + 1
      },
      close: () => resolve(),
      error: () => resolve(),
    },
  })
  connected.catch(() => resolve())
  await promise
}

let isStopped = false
const loops = Array.from({ length: Number(clients) }, async (_, at) => {
  const request = new TextEncoder().encode(text.replace(CLIENT, `10.0.${at >> 8}.${at & 255}`))
  while (!isStopped) await ask(request)
})
for await (const _ of Bun.stdin.stream());
isStopped = true
const GRACE_MS = 500
await Promise.race([Promise.all(loops), Bun.sleep(GRACE_MS)])
console.log(JSON.stringify(statuses))
process.exit(0)
