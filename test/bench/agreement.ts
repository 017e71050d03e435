import { isDeepStrictEqual } from 'node:util'

import { benchAuthorization } from './bench-key.ts'
import type { Dataset } from './dataset.ts'
import { drawPaths, drawSeries } from './request-paths.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed, fastifyOnNode, plain } from './servers.ts'

const PATHS = 50
const SERIES_PATHS = 20
/** The plain server divides floats, which do not know a tie at the sixth decimal. */
const FLOAT_FAULT = 1.5e-6

type Answer = { data: { id: string }[]; nextCursor: string | null }

/** Throws unless all servers give the same pages: else their speeds would say nothing. */
export async function assertAgreement(dataset: Dataset): Promise<void> {
  const commands = [bookfeed(dataset), plain(dataset), fastifyOnNode(dataset)]
  const servers = await Promise.all(
    commands.map((command) => startServer({ command, readyPath: '/healthz' })),
  )
  try {
    const query = { limit: 200, count: PATHS, outcome: 'half', seed: 8 } as const
    for (const path of drawPaths(dataset, query)) {
      const [ours, ...others] = await Promise.all(servers.map((server) => ask(server, path)))
      if (!others.every((other) => isDeepStrictEqual(other, ours)))
        throw new Error(`The servers do not agree on ${path}`)
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** The same of quotes and prices, which Fastify does not have. */
export async function assertSeriesAgreement(dataset: Dataset): Promise<void> {
  const commands = [bookfeed(dataset), plain(dataset)]
  const servers = await Promise.all(
    commands.map((command) => startServer({ command, readyPath: '/healthz' })),
  )
  try {
    for (const path of (['quotes', 'prices'] as const).flatMap((route) =>
      drawSeries(dataset, route).slice(0, SERIES_PATHS),
    )) {
      const [ours, others] = await Promise.all(servers.map((server) => askSeries(server, path)))
      const isSame = isDeepStrictEqual(others?.rows, ours?.rows)
      const isNear = others?.imbalances.every(
        (value, row) => Math.abs(value - (ours?.imbalances[row] ?? Number.NaN)) < FLOAT_FAULT,
      )
      if (ours?.rows.length === 0 || !isSame || !isNear)
        throw new Error(`The servers do not agree on ${path}`)
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** The answer without what each server may choose for itself: ids and the text of the cursor. */
async function ask({ origin }: ServerProcess, path: string) {
  const response = await fetch(origin + path, {
    headers: { authorization: benchAuthorization },
  })
  const { data, nextCursor } = (await response.json()) as Answer
  return { data: data.map(({ id: _, ...snapshot }) => snapshot), hasNext: nextCursor !== null }
}

/** The rows of a series, the only quotient apart: 0 where it is null or absent. */
async function askSeries(server: ServerProcess, path: string) {
  const { data, hasNext } = await ask(server, path)
  const rows = data.map((row) => ({ imbalance: 0, ...row }))
  return {
    rows: rows.map(({ imbalance: _, ...row }) => ({ ...row, hasNext })),
    imbalances: rows.map(({ imbalance }) => imbalance ?? 0),
  }
}
