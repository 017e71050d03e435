import { readFileSync } from 'node:fs'

import { findFreePort } from '../support/free-port.ts'
import { benchAuthorization } from './bench-key.ts'
import { limitProcessor, onServerCore } from './cores.ts'

/** One server under test: a process of its own. */
export type ServerProcess = {
  origin: string
  pid: number
  /** From spawning to the first answer to `readyPath`. */
  startMs: number
  /** Processor time used so far, of all threads; `kernel` is part of `all`. */
  cpuUs(): { all: number; kernel: number }
  rssBytes(): number
  /** Of that what is no file, such as the mapped history. */
  anonBytes(): number
  stop(): Promise<void>
}

export type ServerOptions = {
  /** Must not start other processes: the figures are of this one. */
  command: (port: number) => string[]
  /** Asked until it is 200. */
  readyPath: string
  readyMsMax?: number
  /** Where not on the core of the server. */
  core?: number | 'any' | undefined
  /** Of one core what it may use, where not all that it gets; see `limitProcessor`. */
  share?: number
}

const US_PER_TICK = 10_000
const STOP_MS_MAX = 10_000

/** Starts a server; throws when it does not answer in time. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { command, readyPath, readyMsMax = 60_000, core, share } = options
  const port = findFreePort()
  const origin = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const child = Bun.spawn(onServerCore(command(port), core), {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  while (!(await isReady(origin + readyPath))) {
    const isLate = performance.now() - startedAt > readyMsMax
    if (isLate || child.exitCode !== null) {
      child.kill('SIGKILL')
      throw new Error(`No answer from: ${command(port).join(' ')}`)
    }
    await Bun.sleep(1)
  }
  const removeLimit = share === undefined ? undefined : limitProcessor(child.pid, share)
  return {
    origin,
    pid: child.pid,
    startMs: performance.now() - startedAt,
    cpuUs: () => readCpuUs(child.pid),
    rssBytes: () => readStatus(child.pid, 'VmRSS'),
    anonBytes: () => readStatus(child.pid, 'RssAnon'),
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await child.exited
      clearTimeout(timer)
      removeLimit?.()
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      headers: { 'accept-encoding': 'gzip', authorization: benchAuthorization },
    })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

function readCpuUs(pid: number) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may hold spaces; the fields behind it do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const user = Number(fields[11]) * US_PER_TICK
  const kernel = Number(fields[12]) * US_PER_TICK
  return { all: user + kernel, kernel }
}

/** Of the status of a process: bytes, or how many threads. */
export function readStatus(pid: number, field: 'VmRSS' | 'RssAnon' | 'Threads'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [, value, unit] = new RegExp(`^${field}:\\s+(\\d+)( kB)?`, 'm').exec(status) ?? []
  return Number(value) * (unit === undefined ? 1 : 1024)
}
