import { Command } from 'commander'

import { createLimits, type Limits } from '#src/access/limits.ts'
import type { Config } from '#src/config/config.ts'
import { variables } from '#src/config/variables.ts'
import { isAddress, replicaAgeMs, type Replicas } from '#src/database/stores.ts'
import { ifSound, isPassing, SOON_SECONDS } from '#src/domain/errors.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import { FREE_TIER_ID, type Pack, packsOf } from '#src/domain/selling/tier.ts'
import { createSteadyClock } from '#src/domain/steady-clock.ts'
import { toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import { makeMeterMemory, openMeters } from '#src/http/meters.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { issueKey } from '#src/operator/keys.ts'
import { compileAsUsual } from '#src/platform/jit.ts'
import { createLogBuffer } from '#src/platform/log-buffer.ts'
import { type App, type AppDeps, createApp, createExportLists } from '#src/server/app.ts'
import { hasRecorded } from '#src/simulator/moving-market.ts'
import { makeSample } from '#src/simulator/sample.ts'

import { createActivityLog } from '../server/activity.ts'
import { createShop, describeBilling } from '../server/billing.ts'
import { commandError } from '../server/command-end.ts'
import { type Dispatch, dispatchByKey } from '../server/dispatch.ts'
import {
  type CliContext,
  type ListeningServer,
  listFilesIn,
  loadExtensions,
  type ServerExtension,
  type ServingThreads,
} from '../server/extension.ts'
import { checkAddress, checkAddressAt, listen } from '../server/listen.ts'
import { startMetrics } from '../server/metrics.ts'
import { createNodes } from '../server/nodes.ts'
import {
  historyOf,
  holdDataFolder,
  ledgerOf,
  openDataFolder,
  openLedgerFile,
} from '../server/open-data-folder.ts'
import { createOperator } from '../server/operator.ts'
import { readRecorder, watchSilence } from '../server/recorder-status.ts'
import { startRetention } from '../server/retention.ts'
import { roomFault } from '../server/room.ts'
import { backUpBeforeUpgrade, startBackups } from '../server/scheduled-backups.ts'
import { createScreening, isLoopback, signupStateOf } from '../server/screening.ts'
import {
  type AgeOf,
  clockFaultOf,
  openServedHistory,
  openServedLedger,
  staleSinceOf,
  startReplicas,
} from '../server/served-stores.ts'
import {
  atMost,
  DRAIN_MS_MAX,
  startAgeWatch,
  startForgetting,
  startSample,
  startStream,
  startTimeKeeping,
  startUsageFlush,
} from '../server/server-jobs.ts'
import { asService } from '../server/service-lines.ts'
import { startTestServer } from '../server/test-server.ts'
import { openTimeFloor } from '../server/time-floor.ts'
import { variableOption } from './command-line.ts'
import type { RecordingJob } from './record.ts'

const help = `
The first start fills an empty folder with a simulated sample, and prints an API key for this machine. Unless
BOOKFEED_RECORD is off, the server also records the venue.

On a terminal, the log is text for people; elsewhere it is JSON lines. BOOKFEED_LOG chooses.
All other settings are environment variables: bookfeed help config lists them.

Examples:
  bookfeed serve
  bookfeed serve --port 8080 --data /srv/books`

const LOCAL_KEY_LABEL = 'local'
/** How long a server waits for the first check of chains and facilitator before it greets. */
const FIRST_CHECK_MS_MAX = 3000
const TRIES_MAX = 15

type Stores = { history: MarketHistory; ledger: Ledger }
/** Says, in place of the usual commands, what can be done with a server that listens. */
type GreetBuyer = (at: { origin: string; ledger: Ledger }) => string[]

export const serveCommand = (context: CliContext): Command =>
  new Command('serve')
    .description('serve the history over HTTP until SIGTERM or SIGINT')
    .addOption(variableOption(context, ['--port <port>', 'port to listen on'], variables.port))
    .addOption(
      variableOption(context, ['--data <folder>', 'folder of all data'], variables.dataPath),
    )
    .addHelpText('after', help)
    .action(() => serve(context))

/** Serves until a signal asks it to stop. With `greetBuyer`, no key of the operator's is made. */
export async function serve(given: CliContext, greetBuyer?: GreetBuyer): Promise<void> {
  using context = asService(given)
  await checkAddresses(context.config())
  using _server = holdDataFolder(context, 'server')
  using _recorder = context.config().isRecording ? holdDataFolder(context, 'recorder') : undefined
  await backUpBeforeUpgrade(context)
  using history = openDataFolder(context, 'serve')
  using ledger = openLedgerFile(context, 'serve')
  const extensions = await loadExtensions(context.extensions)
  const threads = await openThreads(context, extensions)
  const config = configOf(context, threads !== undefined)
  const { clock, print } = context
  if (config.hasSample && history.totals().markets === 0) {
    makeSample(history, { print, clock })
    await makeDayOfSample(context, history, extensions)
  }
  const timer = () => performance.now()
  const replicas = await startReplicas(context, timer)
  const ageOf: AgeOf | undefined =
    replicas && ((store) => replicaAgeMs(replicas.freshness, store, timer()))
  await using ends = new AsyncDisposableStack()
  ends.defer(() => replicas?.close())
  const served = ends.use(openServed(context, { history, ledger }, replicas))
  const steady = createSteadyClock({ clock, timer, floor: openTimeFloor(context, ledger) })
  const timed = { ...context, clock: steady.now }
  const staleSince = staleSinceOf(context, steady.now, ageOf)
  const log = createLogBuffer(context.writeLog)
  const nodes = createNodes(timed)
  const screening = createScreening(timed, ledger, nodes)
  const signup = () => signupStateOf(config, screening.signup())
  let recorder: RecordingJob | undefined
  let isStarted = false
  // Known when the server listens, and not asked before.
  let origin = config.publicUrl
  const ports = { screen: screening.screen, origin: () => origin }
  const shop = createShop(timed, ledger, ports, nodes)
  const shared = shareMemory(config, threads)
  const activity = createActivityLog({
    clock: steady.now,
    server: context.createId(),
    meterMemory: shared.meterMemory,
    readRecorder: () => readRecorder(config.dataPath, clock()).status,
  })
  const operator = createOperator(timed, extensions, activity)
  const report = operator?.report
  const exports = createExportLists(steady.now)
  const real: AppDeps & { limits: Limits } = {
    ...timed,
    extensions,
    operator,
    ...screening,
    limits: shared.limits,
    sampleChoice: threads?.sampleChoice,
    exports: exports.real,
    testExports: exports.test,
    meters: shared.meters,
    history: served.history,
    ledger,
    servedLedger: served.ledger,
    catchUp: replicas && (() => replicas.catchUp('ledger')),
    staleSince,
    clockFault: replicas && (() => clockFaultOf(context, replicas)),
    config,
    signup,
    billing: shop.billing,
    nodes,
    origin: () => origin,
    recording: () => recordingState(context, recorder),
    silence: silenceOfOthers(context, () => recorder),
    timer,
    log: log.write,
    say: context.printError,
    isStarted: () => isStarted,
  }
  const app = createApp(real)
  const test = config.hasTestMode ? startTestServer(timed, real) : undefined
  const front = { ...dispatchByKey(app, test?.server), frequentPaths: app.frequentPaths }
  const { meterMemory, limits } = shared
  const server = await (threads?.start({
    context: timed,
    app: front,
    meterMemory,
    limits,
    exports,
    replicas,
    timer,
  }) ?? listenHere(front, config))
  compileAsUsual()
  test?.prepare()
  // Sign-in messages know no IPv6 address.
  origin ||= server.url.origin.replace('[::1]', 'localhost')
  const selling = shop.start(report?.reconciliation)
  const stream = startStream(front)
  const usageFlush = startUsageFlush(front, { timer, say: context.printError })
  const metrics = await startMetrics({
    context: timed,
    app,
    ledger: served.ledger,
    timer,
    ageOf,
    usageFlush,
    ...shared,
  })
  const jobs = [
    selling,
    startTimeKeeping(steady),
    ...(staleSince ? [startAgeWatch(staleSince, context.printError)] : []),
    test,
    startForgetting(timed, ledger, report?.forgetting),
    usageFlush,
    activity.start(ledger, app.timedNames),
    stream,
    nodes.start(),
    screening.start(report),
    ...(metrics ? [metrics] : []),
    ...(config.hasSample ? [startSample(timed, history)] : []),
    startBackups(timed, report?.backup),
    ...extensions.flatMap((extension) =>
      (extension.jobs ?? []).map((job) => job.start(timed, operator?.reports.get(job.name))),
    ),
  ]
  using stack = new DisposableStack()
  stack.use(startRetention(timed, history, report?.retention))
  recorder = stack.use(await record(timed, history, server.wake ?? stream.wake))
  for (const job of jobs) ends.defer(() => job?.dispose())
  isStarted = true
  // What a sandbox prints is to be bought at once.
  if (selling !== undefined)
    await (greetBuyer ? selling.checked : atMost(selling.checked, FIRST_CHECK_MS_MAX))
  const facts = { payments: describeBilling(shop), signup: await patiently(signup) }
  const packs = isKeyless(config, extensions) && shop.billing.isOpen ? packsOf(ledger) : []
  const state = { url: server.url, history: served.history, metrics: metrics?.url, packs, ...facts }
  const lines = greetBuyer
    ? [...greetServer(state), '', ...greetBuyer({ origin, ledger })]
    : await greetOwner(timed, ledger, state, config.hasSample)
  for (const line of lines) print(line)
  await new Promise<void>((resolve) => context.onStop(resolve))
  await drain(app, front, config)
  await server.stop()
  log.flush()
}

async function checkAddresses({ host, port, metrics }: Config): Promise<void> {
  await checkAddress({ host, port })
  if (metrics !== '') await checkAddressAt(metrics, 'BOOKFEED_METRICS')
}

const isKeyless = (config: Config, extensions: readonly ServerExtension[]): boolean =>
  extensions.some((own) => own.sellsWithoutKey?.(config) === true)

/** What requests read, which is closed by itself where it is no store that was opened before. */
function openServed(
  context: CliContext,
  stores: Stores,
  replicas: Replicas | undefined,
): Stores & Disposable {
  const { history, ledger } = stores
  if (replicas === undefined) return { history, ledger, [Symbol.dispose]() {} }
  const own: { history?: MarketHistory; ledger?: Ledger } = {}
  if (isAddress(historyOf(context))) own.history = openServedHistory(context, context.config())
  if (isAddress(ledgerOf(context))) own.ledger = openServedLedger(context)
  return {
    history: own.history
      ? { ...own.history, probeWrite: () => replicas.probeWrite('history') }
      : history,
    ledger: own.ledger
      ? { ...own.ledger, probeWrite: () => replicas.probeWrite('ledger') }
      : ledger,
    [Symbol.dispose]() {
      own.history?.dispose()
      own.ledger?.dispose()
    },
  }
}

/** Where there is no room, the sample has no such day. */
async function makeDayOfSample(
  context: CliContext,
  history: MarketHistory,
  extensions: readonly ServerExtension[],
): Promise<void> {
  const { config, clock } = context
  const { dataPath } = config()
  if (roomFault(context, dataPath) !== undefined) return
  const { makeSampleDay } = await import('../server/sample-day.ts')
  const listFiles = await listFilesIn(dataPath, context.extensions)
  await makeSampleDay(history, { dataPath, clock, extensions, listFiles })
}

/** Loads the recorder when the server listens already; undefined where none is wanted. */
async function record(context: CliContext, history: MarketHistory, onStored: () => void) {
  if (!context.config().isRecording) return undefined
  const { startRecording } = await import('./record.ts')
  return startRecording(context, history, { onStored })
}

type ServerState = Omit<Banner, keyof ReturnType<typeof ownKeys>>

async function greetOwner(
  context: CliContext,
  ledger: Ledger,
  state: ServerState,
  hasSample: boolean,
) {
  const { history } = state
  const own = await patiently(() => ownKeys(context, { history, ledger }, hasSample))
  return patiently(() => bannerLines({ ...state, ...own }))
}

/** Others may keep a database for longer than a server waits for it; it does not end for that. */
async function patiently<T>(act: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return act()
    } catch (error) {
      if (!isPassing(error) || tries === TRIES_MAX) throw error
      await Bun.sleep(SOON_SECONDS * 1000)
    }
  }
}

/** What several servers share holds no sample, and is not written by a thread that serves. */
function configOf(context: CliContext, hasThreads: boolean): Config {
  const given = context.config()
  if (!isAddress(historyOf(context))) return given
  if (given.isRecording && !hasThreads) {
    throw commandError(
      'A serving thread cannot record into BOOKFEED_HISTORY. Set BOOKFEED_RECORD=off and run bookfeed record beside it, or set BOOKFEED_WORKERS to 1 or more.',
    )
  }
  return { ...given, hasSample: false }
}

/** Load balancers have time to find another server before a request is refused. */
async function drain(app: App, front: Dispatch, { drainSeconds }: Config): Promise<void> {
  app.refuse()
  await Bun.sleep(drainSeconds * 1000)
  front.drain()
}

/** Not before the server listens: a start that fails would take the key to its grave. */
function ownKeys(context: CliContext, { history, ledger }: Stores, hasSample: boolean) {
  const { clock, invocation } = context
  return {
    isSample: hasSample && ifSound(() => hasRecorded(history, clock())) === false,
    localKey: makeLocalKey(context, ledger),
    makeKey: keyCommand(context, ledger),
    invocation,
  }
}

async function openThreads(context: CliContext, extensions: readonly ServerExtension[]) {
  for (const extension of extensions) {
    const threads = await extension.openThreads?.(context)
    if (threads !== undefined) return threads
  }
  return undefined
}

/** What bounds callers and what is measured, over all threads that answer. */
function shareMemory({ streamsMax }: Config, threads: ServingThreads | undefined) {
  const meterMemory = makeMeterMemory((threads?.count ?? 0) + 1)
  const limits = createLimits(streamsMax, threads?.store)
  return { limits, meterMemory, meters: openMeters(meterMemory) }
}

/** Answers in this thread. */
function listenHere(app: Parameters<typeof listen>[0], config: Config): ListeningServer {
  const server = listen(app, config)
  const stop = async (): Promise<void> => {
    await atMost(server.stop(), DRAIN_MS_MAX)
    await server.stop(true)
  }
  return { url: server.url, wake: undefined, stop }
}

/** A recorder of this thread is alive if this code runs. */
function silenceOfOthers({ config, clock }: CliContext, own: () => RecordingJob | undefined) {
  const silence = watchSilence(config().dataPath, clock)
  return () => (own() === undefined ? silence() : undefined)
}

/** Of the recorder of this process, or else of another on the same folder. */
function recordingState({ config, clock }: CliContext, own: RecordingJob | undefined) {
  if (own !== undefined) return { isOwn: true, fault: own.fault(), warning: own.warning() }
  const { dataPath } = config()
  const { status, silentMs } = readRecorder(dataPath, clock())
  if (status) return { isOwn: false, fault: status.fault, warning: status.warning }
  if (silentMs === undefined) return undefined
  const since = toIso(silentMs)
  const warning = `Nothing is recorded: the recorder of this folder stopped at ${since} without notice. Start it again, or remove recorder.json.`
  return { isOwn: false, fault: undefined, warning }
}

export type Banner = {
  url: URL
  signup: SignupState
  payments: string
  /** What is sold without a key. */
  packs: readonly Pack[]
  metrics?: URL | undefined
  history: MarketHistory
  /** The key that this start made; the only time that it is shown. */
  localKey: string | undefined
  /** Nothing was recorded so far, and simulated markets move instead. */
  isSample: boolean
  /** Makes another key, as a shell reads it. */
  makeKey: string
  /** Runs this program, as a shell reads it. */
  invocation: string
}

export function bannerLines(greeting: Banner): string[] {
  const { url, history, localKey, makeKey, invocation, isSample } = greeting
  const origin = originOf(url)
  const held = ifSound(() => {
    const example = findExampleMarket(history)
    return { example, coin: (example ?? history.coinTotals(0)[0])?.coin }
  })
  const market = held?.example
  const markets = `${origin}/v1/${held?.coin ?? 'btc'}/markets`
  // A shell puts the variable in only between double quotes.
  const header =
    localKey === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${localKey}'`
  const curl = `curl -H ${header}`
  const lines = [
    ...greetServer(greeting),
    ...(isSample
      ? [`Until a market is recorded, simulated ones move: ${origin}/v1/btc/prices`]
      : []),
    '',
    ...(localKey === undefined
      ? ['Try, with your key in $KEY. To make another one:', `  KEY=$(${makeKey})`, '']
      : ['Try, with the key below:']),
    `  ${curl} '${markets}'`,
  ]
  if (market) {
    const page = `${markets}/${market.conditionId}/snapshots`
    const size = `-w '%{size_download} bytes\\n'`
    lines.push(`  ${curl} '${page}?limit=2'`)
    lines.push(`  ${curl} --compressed -s -o /dev/null ${size} '${page}?limit=1000'`)
  } else {
    lines.push(
      `  curl '${origin}/readyz'`,
      '',
      held === undefined
        ? `Part of the history is damaged. See: ${invocation} verify`
        : `The history has no snapshots. See: ${invocation} import --help`,
    )
  }
  if (localKey !== undefined)
    lines.push('', 'Your API key, which is shown at this start only:', `  ${localKey}`)
  return lines
}

function greetServer({
  url,
  signup,
  payments,
  packs,
  metrics,
}: Pick<Banner, 'url' | 'signup' | 'payments' | 'packs' | 'metrics'>): string[] {
  const origin = originOf(url)
  const bundle = packs.find(({ requests, isForSale }) => requests > 1 && isForSale)
  return [
    `bookfeed listens on ${origin}`,
    `Documentation: ${origin}/swagger`,
    ...(metrics ? [`Metrics: ${metrics}`] : []),
    signup.isOpen ? 'Signup is open.' : `Signup is closed: ${signup.reason}`,
    payments,
    ...(packs.length > 0
      ? [
          'Purchases without a key, by any x402 client:',
          `  GET ${origin}/v1/btc/markets pays for one request`,
          ...(bundle
            ? [
                `  POST ${origin}/v1/billing/packs/${bundle.tierId} returns a key for ${bundle.name}`,
              ]
            : []),
          `  GET ${origin}/.well-known/x402 lists all that is sold`,
        ]
      : []),
  ]
}

/** A server on every interface is reached under no address of that name. */
const originOf = (url: URL): string =>
  url.origin.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost')

const topTierOf = (ledger: Ledger): string => ledger.listTiers().at(-1)?.tierId ?? FREE_TIER_ID

/** A key for a first start; undefined where others than this machine's users reach the server. */
export function makeLocalKey(context: CliContext, ledger: Ledger): string | undefined {
  if (!isLoopback(context.config().host)) return undefined
  const nowMs = context.clock()
  const label = LOCAL_KEY_LABEL
  return ledger.atomically(() => {
    if (!ledger.isNew()) return undefined
    const id = `acc_${context.createId()}`
    ledger.createAccount({ id, label }, byOperator(nowMs))
    const tierId = topTierOf(ledger)
    return issueKey(context, ledger, { accountId: id, tierId, label, nowMs }).key
  })
}

/** What to type for another key of the highest tier, in the same ledger. */
export const keyCommand = ({ invocation, env }: CliContext, ledger: Ledger): string =>
  `${placeOfLedger(env)}${invocation} keys create --tier ${topTierOf(ledger)}`

function placeOfLedger({ BOOKFEED_DATA, BOOKFEED_LEDGER }: CliContext['env']): string {
  // It may hold a password, and what is printed is logged.
  if (BOOKFEED_LEDGER) return "BOOKFEED_LEDGER='postgres://…' "
  return BOOKFEED_DATA ? `BOOKFEED_DATA='${BOOKFEED_DATA.replaceAll("'", `'\\''`)}' ` : ''
}
