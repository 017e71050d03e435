import { Command } from 'commander'

import { type App, createApp, type StreamData } from '#src/app.ts'
import type { Config } from '#src/config.ts'
import { createSteadyClock } from '#src/core/steady-clock.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { makeSample } from '#src/ingest/simulator/sample.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createLogBuffer, type LogBuffer } from '#src/lib/log-buffer.ts'
import { codeOf } from '#src/lib/message.ts'

import { createShop, describeBilling } from './billing.ts'
import { type CliContext, CliError } from './context.ts'
import { greet, greetServer } from './greeting.ts'
import { keyCommand, makeLocalKey } from './local-key.ts'
import { openDataFolder, openLedgerFile } from './open-data-folder.ts'
import { startRecording } from './record.ts'
import { createScreening } from './screening.ts'
import { startForgetting, startStream, startTimeKeeping, startUsageFlush } from './server-jobs.ts'
import { signupStateOf } from './signup-state.ts'

const IDLE_TIMEOUT_SECONDS = 10
/** A backstop far above what the routes take: they answer better than Bun, which answers bare. */
const BODY_BYTES_MAX = 1024 * 1024
/** Of what a client sends over a WebSocket. */
const MESSAGE_BYTES_MAX = 16_384
const DRAIN_MS_MAX = 10_000

type Server = ReturnType<typeof Bun.serve>
type Stores = { history: MarketHistory; ledger: Ledger }

/** Says, in place of the usual commands, what can be done with a server that listens. */
export type GreetBuyer = (at: { origin: string; ledger: Ledger }) => string[]

/** `bookfeed serve`: serves the history over HTTP until SIGTERM or SIGINT. */
export const serveCommand = (context: CliContext): Command =>
  new Command('serve')
    .description('serve the history over HTTP until SIGTERM or SIGINT')
    .action(() => serve(context))

/** Serves until a signal asks it to stop. With `greetBuyer`, no key of the operator's is made. */
export async function serve(context: CliContext, greetBuyer?: GreetBuyer): Promise<void> {
  using stores = new DisposableStack()
  const history = stores.adopt(openDataFolder(context), (opened) => opened.dispose())
  const ledger = stores.use(openLedgerFile(context))
  await serveStores(context, { history, ledger }, greetBuyer)
}

async function serveStores(
  context: CliContext,
  stores: Stores,
  greetBuyer: GreetBuyer | undefined,
): Promise<void> {
  const config = context.config()
  const { history, ledger } = stores
  await addSample(context, history)
  const timer = () => performance.now()
  const steady = createSteadyClock({ clock: context.clock, timer, ledger })
  const timed = { ...context, clock: steady.now }
  const log = createLogBuffer(context.writeLog)
  const screening = createScreening(timed, ledger)
  const signup = () => signupStateOf(config, screening.signup())
  // Known when the server listens, and not asked before.
  let origin = config.publicUrl
  const shop = createShop(timed, ledger, { screen: screening.screen, origin: () => origin })
  const { billing } = shop
  const app = createApp({
    ...timed,
    ...screening,
    ...stores,
    config,
    signup,
    billing,
    origin: () => origin,
    timer,
    log: log.write,
  })
  const server = listen(app, config)
  // Sign-in messages know no IPv6 address.
  origin ||= server.url.origin.replace('[::1]', 'localhost')
  const selling = shop.start()
  const jobs = [
    ...[selling, startTimeKeeping(steady), startForgetting(timed, ledger)],
    ...[startUsageFlush(app, context.printError), startStream(app), screening.start()],
  ]
  using stack = new DisposableStack()
  if (config.isRecording) stack.use(startRecording(timed, history))
  await using ends = new AsyncDisposableStack()
  for (const job of jobs) ends.defer(() => job?.dispose())
  await selling?.checked
  const state = { url: server.url, history, signup: signup(), payments: describeBilling(shop) }
  // Not before the server listens: a start that fails would take the key to its grave.
  const lines = greetBuyer
    ? [...greetServer(state), '', ...greetBuyer({ origin, ledger })]
    : greet({
        ...state,
        localKey: makeLocalKey(timed, ledger),
        makeKey: keyCommand(timed, ledger),
      })
  for (const line of lines) context.print(line)
  await stopRequested(context)
  await drain({ app, server, log })
}

async function addSample(context: CliContext, history: MarketHistory): Promise<void> {
  const { print, clock } = context
  if (!context.config().hasSample || history.totals().markets > 0) return
  await makeSample({ history, print, clock })
}

function listen(app: App, { host, port }: Config): Server {
  const { stream } = app
  try {
    return Bun.serve<StreamData>({
      hostname: host,
      port,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      maxRequestBodySize: BODY_BYTES_MAX,
      development: false,
      // A port in use must be refused, also when its holder would share it.
      reusePort: false,
      fetch: app.fetch,
      websocket: {
        open: stream.open,
        message: stream.message,
        drain: stream.drain,
        close: stream.close,
        maxPayloadLength: MESSAGE_BYTES_MAX,
        perMessageDeflate: false,
      },
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
