import { isDeepStrictEqual } from 'node:util'

import { benchAuthorization } from './bench-key.ts'
import type { Dataset } from './dataset.ts'
import { drawPaths } from './request-paths.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { bookfeed, fastifyOnNode, plain } from './servers.ts'

const PATHS = 50

type Answer = { data: { id: string }[]; nextCursor: string | null }

/** Throws unless all servers give the same pages: else their speeds would say nothing. */
export async function assertAgreement(dataset: Dataset): Promise<void> {
  const commands = [bookfeed(dataset), plain(dataset), fastifyOnNode(dataset)]
  const servers = await Promise.all(
    commands.map((command) => startServer({ command, readyPath: '/healthz' })),
  )
  try {
    const query = { limit: 200, count: PATHS, hasOutcome: true, seed: 8 }
    for (const path of drawPaths(dataset.plainFile, query)) {
      const [ours, ...others] = await Promise.all(servers.map((server) => ask(server, path)))
      if (!others.every((other) => isDeepStrictEqual(other, ours)))
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
