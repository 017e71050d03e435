import { Command } from 'commander'

import { type App, createApp } from '#src/app.ts'
import type { Config } from '#src/config.ts'
import { coins } from '#src/core/market.ts'
import { makeSample } from '#src/ingest/sample.ts'
import { createLogBuffer, type LogBuffer } from '#src/lib/log-buffer.ts'
import type { HistoryStore } from '#src/store/history.ts'

import { type CliContext, CliError } from './context.ts'
import { openDataFolder } from './open-data-folder.ts'

const IDLE_TIMEOUT_SECONDS = 10
const BODY_BYTES_MAX = 64 * 1024
const DRAIN_MS_MAX = 10_000

type Server = ReturnType<typeof Bun.serve>

/** `bookfeed serve`: serves the history over HTTP until it is told to stop. */
export const serveCommand = (context: CliContext): Command =>
  new Command('serve')
    .description('serve the history over HTTP until SIGTERM or SIGINT')
    .action(() => serve(context))

async function serve(context: CliContext): Promise<void> {
  const config = context.config()
  const history = openDataFolder(context)
  try {
    await addSample(context, history)
    const log = createLogBuffer(context.writeLog)
    const app = createApp({ ...context, history, config, log: log.write })
    const server = listen(app, config)
    for (const line of greet(server.url, history)) context.print(line)
    await stopRequested(context)
    await drain({ app, server, log })
  } finally {
    history.dispose()
  }
}

async function addSample(context: CliContext, history: HistoryStore): Promise<void> {
  const { print, clock } = context
  if (!context.config().hasSample || history.totals().markets > 0) return
  await makeSample({ history, print, clock })
}

function listen(app: App, { host, port }: Config): Server {
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: BODY_BYTES_MAX,
      development: false,
      // A port in use must be refused, also when its holder would share it.
      reusePort: false,
      fetch: app.fetch,
      // The front door catches everything; this keeps Bun's own page away should that fail.
      error: () => new Response(null, { status: 500 }),
    })
  } catch (cause) {
    throw new CliError(toListenMessage(codeOf(cause), host, port), { cause })
  }
}

function toListenMessage(code: string, host: string, port: number): string {
  if (code === 'EADDRINUSE') {
    return `Port ${port} of ${host} is taken. Stop the other program, or set BOOKFEED_PORT to another port (0 takes any free one).`
  }
  if (code === 'EACCES') {
    return `This user may not listen on port ${port}. Set BOOKFEED_PORT to a port above 1023.`
  }
  return `Cannot listen on ${host}:${port} (${code}). Set BOOKFEED_HOST to an address of this machine.`
}

/** The address, and three commands that work as they are pasted. */
function greet(url: URL, history: HistoryStore): string[] {
  // A server on every interface is reached under no address of that name.
  const origin = url.origin.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost')
  const lines = [`bookfeed listens on ${origin}`, `Documentation: ${origin}/swagger`, '', 'Try:']
  const market = coins.flatMap((coin) => history.listMarkets({ coin, limit: 1 }))[0]
  const markets = `${origin}/v1/${market?.coin ?? 'btc'}/markets`
  lines.push(`  curl '${markets}'`)
  if (market) {
    const page = `${markets}/${market.conditionId}/snapshots`
    const size = `-w '%{size_download} bytes\\n'`
    lines.push(`  curl '${page}?limit=2'`)
    lines.push(`  curl --compressed -s -o /dev/null ${size} '${page}?limit=1000'`)
  } else {
    lines.push(`  curl '${origin}/readyz'`, '', 'The history is empty. See: bookfeed import --help')
  }
  return lines
}

function stopRequested({ onStop }: CliContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  onStop(resolve)
  return promise
}

/** Lets requests in flight end, for ten seconds at most. */
async function drain(parts: { app: App; server: Server; log: LogBuffer }): Promise<void> {
  parts.app.drain()
  const deadline = Promise.withResolvers<void>()
  const timer = setTimeout(deadline.resolve, DRAIN_MS_MAX)
  await Promise.race([parts.server.stop(), deadline.promise])
  clearTimeout(timer)
  await parts.server.stop(true)
  parts.log.flush()
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
