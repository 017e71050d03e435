import { benchAuthorization } from './bench-key.ts'
import { onLoadCore } from './cores.ts'
import type { ServerProcess } from './server-process.ts'

/** One run of load on one server. */
export type Sample = {
  requestsPerSecond: number
  /** Mean, as sent. */
  bytesPerResponse: number
  cpuUsPerRequest: number
  /** Part of it. */
  kernelUsPerRequest: number
  p50Ms: number
  p99Ms: number
  /** Resident, and of that what is no file. */
  rssBytes: number
  anonBytes: number
  /** Answers that were not 2xx, and connections that failed: must be 0. */
  failures: number
  requests: number
}

export type Load = {
  server: ServerProcess
  /** One path a line. */
  pathsFile: string
  /** How many paths at the start of the file belong to the warm-up. */
  skip: number
  seconds: number
  encoding: 'gzip' | 'identity'
  /** `CONNECTIONS` when absent. */
  connections?: number | undefined
  /** Where not on the core of the load. */
  core?: number | undefined
}

export const CONNECTIONS = 16

const script = new URL('./walk.lua', import.meta.url).pathname

/** Throws with what to install when something is missing. */
export function assertTools(): void {
  for (const [tool, debianPackage] of [
    ['wrk', 'wrk'],
    ['node', 'nodejs'],
    ['npm', 'npm'],
  ] as const) {
    if (Bun.which(tool) === null)
      throw new Error(`The benches need ${tool}: apt-get install ${debianPackage}`)
  }
}

/** Sends load for some seconds and measures both ends. */
export async function runLoad(load: Load): Promise<Sample> {
  const { server } = load
  const cpuUsBefore = server.cpuUs()
  const result = await runWrk(load)
  const cpuUs = server.cpuUs()
  const { requests, durationUs, bytes, failures, p50Us, p99Us } = result
  return {
    requestsPerSecond: (requests / durationUs) * 1e6,
    bytesPerResponse: bytes / requests,
    cpuUsPerRequest: (cpuUs.all - cpuUsBefore.all) / requests,
    kernelUsPerRequest: (cpuUs.kernel - cpuUsBefore.kernel) / requests,
    p50Ms: p50Us / 1000,
    p99Ms: p99Us / 1000,
    rssBytes: server.rssBytes(),
    anonBytes: server.anonBytes(),
    failures,
    requests,
  }
}

/** Of several that ran at the same time. */
export const rateOf = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0)

type WrkResult = {
  requests: number
  durationUs: number
  bytes: number
  failures: number
  p50Us: number
  p99Us: number
}

async function runWrk(load: Load): Promise<WrkResult> {
  const { server, pathsFile, skip, seconds, encoding, connections = CONNECTIONS, core } = load
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s']
  const headers = [`accept-encoding: ${encoding}`, `authorization: ${benchAuthorization}`]
  const options = ['-s', script, ...headers.flatMap((each) => ['-H', each]), server.origin]
  const command = [...wrk, ...options, '--', pathsFile, String(skip)]
  const child = Bun.spawn(onLoadCore(command, core), { stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  const result = /^result (\{.*\})$/m.exec(output)?.[1]
  if (result === undefined) throw new Error(`wrk said no result:\n${output}`)
  return JSON.parse(result) as WrkResult
}
