/**
 * The whole program, watched: reports the longest time for which its event loop did nothing else.
 * Asked over a port of its own, and begun again with each answer.
 * Usage: bun loop-stall.ts <port> serve
 */
import { existsSync, readFileSync } from 'node:fs'

const [port] = process.argv.splice(2, 1)

const TICK_MS = 1

/** Time that this thread had on a processor, where the system tells; else all threads together. */
const schedule = `/proc/self/task/${process.pid}/schedstat`
const cpuMs = existsSync(schedule)
  ? () => Number(readFileSync(schedule, 'utf8').split(' ')[0]) / 1e6
  : () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    }

let longestMs = 0
let last = { wallMs: performance.now(), cpuMs: cpuMs() }

setInterval(() => {
  const now = { wallMs: performance.now(), cpuMs: cpuMs() }
  // What others had of the core is not ours: no stall is longer than the processor time used in it.
  const busyMs = Math.min(now.wallMs - last.wallMs - TICK_MS, now.cpuMs - last.cpuMs)
  longestMs = Math.max(longestMs, busyMs)
  last = now
}, TICK_MS)

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  fetch() {
    const answer = Response.json(longestMs)
    longestMs = 0
    return answer
  },
})

await import('#src/main.ts')
