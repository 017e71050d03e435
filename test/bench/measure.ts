import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { type Load, runLoad, type Sample } from './load.ts'
import type { Pages } from './scenarios.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Command } from './servers.ts'

/** One column of a comparison. */
export type Contestant = {
  name: string
  encoding: Load['encoding']
  /** A fresh process for each round, or one that runs already and is left running. */
  server: { command: Command } | { running: ServerProcess }
  /**
   * What it reads from disk: brought into memory before each round, as it would be in production.
   */
  files: readonly string[]
  pages: Pages
  /** Pages that it can answer, from the start of the file; all when undefined. */
  pagesMax?: number
}

export type Timing = { rounds: number; seconds: number; warmUpSeconds: number }

/** What was measured of one contestant: the median of its rounds, field by field. */
export type Result = { name: string; sample: Sample; isWrapped: boolean }

/**
 * Measures all contestants in turn, round by round, so that a slow minute of the machine hits all.
 */
export async function compare(
  contestants: readonly Contestant[],
  timing: Timing,
): Promise<Result[]> {
  const samples = new Map<string, Sample[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < timing.rounds; round++) {
    for (const contestant of contestants) {
      samples.get(contestant.name)?.push(await measureOnce(contestant, timing))
    }
  }
  return contestants.map(({ name, pages, pagesMax }) => {
    const rounds = samples.get(name) ?? []
    const requestsMax = Math.max(...rounds.map(({ requests }) => requests))
    // A ceiling that repeats its pages is none the worse: it has them all in memory anyway.
    const isBounded = !pages.isRepeated && pagesMax === undefined
    return {
      name,
      sample: toMedian(rounds),
      isWrapped: isBounded && requestsMax > pages.count - pages.skip,
    }
  })
}

async function measureOnce(contestant: Contestant, timing: Timing): Promise<Sample> {
  const { encoding, files, pages, server: source } = contestant
  for (const file of files) readIntoMemory(file)
  const isRunning = 'running' in source
  const server = isRunning
    ? source.running
    : await startServer({ command: source.command, readyPath: '/healthz' })
  try {
    const pathsFile = await cut(pages, contestant.pagesMax)
    const load = { server, pathsFile, encoding, connections: pages.connections }
    await runLoad({ ...load, skip: 0, seconds: timing.warmUpSeconds })
    const skip = contestant.pagesMax === undefined ? pages.skip : 0
    return await runLoad({ ...load, skip, seconds: timing.seconds })
  } finally {
    if (!isRunning) await server.stop()
  }
}

/** The first pages alone, for a contestant that cannot answer the others. */
async function cut({ pathsFile, count }: Pages, pagesMax: number | undefined): Promise<string> {
  if (pagesMax === undefined || pagesMax >= count) return pathsFile
  const lines = (await Bun.file(pathsFile).text()).split('\n', pagesMax)
  const file = `${pathsFile}.${pagesMax}`
  await Bun.write(file, `${lines.join('\n')}\n`)
  return file
}

/** Reads a file or the files of a folder: the system may have dropped them from its cache. */
function readIntoMemory(path: string): void {
  if (statSync(path).isDirectory()) {
    for (const name of readdirSync(path)) readIntoMemory(join(path, name))
    return
  }
  const buffer = new Uint8Array(4 * 1024 * 1024)
  const file = openSync(path, 'r')
  while (readSync(file, buffer) > 0);
  closeSync(file)
}

function toMedian(samples: readonly Sample[]): Sample {
  const of = (field: keyof Sample) => median(samples.map((sample) => sample[field]))
  return {
    requestsPerSecond: of('requestsPerSecond'),
    bytesPerResponse: of('bytesPerResponse'),
    cpuUsPerRequest: of('cpuUsPerRequest'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    kernelUsPerRequest: of('kernelUsPerRequest'),
    rssBytes: of('rssBytes'),
    anonBytes: of('anonBytes'),
    requests: of('requests'),
    // One failure in any round spoils the figure.
    failures: Math.max(...samples.map(({ failures }) => failures)),
  }
}

/** The middle value; the upper one of two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
