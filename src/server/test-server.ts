/**
 * The test server: simulated hours, a ledger in memory, and faults on request. Each kind of data has
 * its own app, so that no test key can reach real data. Live streams restart when the hours are
 * over, and the ledger is replaced each day (UTC).
 */

import { setImmediate as othersTurn } from 'node:timers/promises'

import { createSignupWindows, type Limits } from '#src/access/limits.ts'
import type { Config } from '#src/config/config.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Clock } from '#src/domain/time.ts'
import type { ExportRecords } from '#src/features/exports/records.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { pathOf, targetOf } from '#src/http/target.ts'
import { createDayView } from '#src/live/day-view.ts'
import {
  type Bounds,
  createConcurrencyLimit,
  createCounts,
} from '#src/platform/concurrency-limit.ts'
import type { Job } from '#src/platform/job.ts'
import { TEST_DAY_MS, TEST_SPAN_MS, type TestStore } from '#src/simulator/test-day.ts'

import { type AppParts, createApp, type ServedApp, type SimulatedParts } from './app.ts'
import type { CliContext } from './extension.ts'
import type { FirstThreadParts } from './first-thread.ts'
import { clearOf, openTestAccounts, type TestAccounts } from './test-accounts.ts'
import { createTestData, testFolderOf } from './test-data.ts'
import { faultOf, markAsTest, refuseFaulty, SLOW_MS, type TestFault } from './test-faults.ts'

/** The streams of past hours have ended after this time. */
const ENDING_MS = 90_000
const PAGE_CACHE_BYTES = 1024 * 1024
/** The maximum number of quotes and payments in memory; beyond it the ledger is replaced early. */
const DEALS_MAX = 20_000

/** A store with a chain that settles at once, or one whose payments remain pending. */
type Kind = TestStore | 'payment_pending'

export type TestServerParts = {
  /** The parts of the real app. */
  real: AppParts
  /** The limits of the real app. */
  limits: Limits
  /** Records of exports with test keys. */
  exports?: ExportRecords | undefined
  /** In a thread without `exports`, sends the state of an export to the first thread. */
  reportExport?: AppParts['reportExport']
  /** Returns undefined while the store is being made. */
  open: (store: TestStore) => MarketHistory | undefined
  /** Starts to make a store and waits for it for a limited time. */
  hold?: ((store: TestStore) => Promise<void>) | undefined
  /** The estimated seconds until a store is complete. */
  secondsLeft?: ((store: TestStore) => number) | undefined
  /** Answers while a store is being made; the placeholder app by default. */
  otherwise?: ServedApp['fetch'] | undefined
  sleep: (ms: number) => Promise<void>
  dealsMax?: number | undefined
}

/** One run of the hours: `number` counts from 1970. */
type Round = {
  number: number
  accounts: TestAccounts
  apps: Map<Kind, ServedApp>
  /** The app for requests that need no data. */
  placeholder?: ServedApp
}

export type TestServer = ReturnType<typeof createTestServer>

export function createTestServer({
  real,
  limits: realLimits,
  exports,
  reportExport,
  open,
  hold,
  secondsLeft = () => 1,
  otherwise,
  sleep,
  dealsMax = DEALS_MAX,
}: TestServerParts) {
  const { ledger, extensions, clock, timer, createId, randomBytes, log, version } = real
  const origin = real.first?.origin ?? (() => '')
  const pathsWithoutData = new Set(
    extensions.flatMap((extension) => extension.pathsWithoutData ?? []),
  )
  const needsNoData = ({ url }: Request) => pathsWithoutData.has(pathOf(targetOf(url)))
  const limits = createTestLimits(realLimits)
  const config: Config = {
    ...real.config,
    sampleMarket: 'off',
    pageCacheBytes: PAGE_CACHE_BYTES,
    // Files that extensions keep in the data folder are not part of test mode.
    dataPath: testFolderOf(real.config.dataPath),
  }
  let noData: MarketHistory | undefined
  let round: Round | undefined
  /** Past rounds whose streams have not ended. */
  let ending: (Round & { untilMs: number })[] = []

  function current(): Round {
    const nowMs = clock()
    const number = Math.floor(nowMs / TEST_SPAN_MS)
    if (round?.number === number && !round.accounts.isFull()) return round
    for (const app of round ? appsOf(round) : []) app.drain()
    if (round !== undefined) ending.push({ ...round, untilMs: timer() + ENDING_MS })
    const known = round?.accounts
    const accounts =
      known?.includes(nowMs) && !known.isFull()
        ? known
        : openTestAccounts({ ledger, clock, createId, origin, dealsMax })
    round = { number, accounts, apps: new Map() }
    return round
  }

  /** Closes the ledgers of past rounds whose streams have ended. */
  function forget(): void {
    const over = ending.filter(({ untilMs }) => timer() >= untilMs)
    ending = ending.filter(({ untilMs }) => timer() < untilMs)
    const used = new Set([round, ...ending].map((each) => each?.accounts))
    for (const accounts of new Set(over.map((each) => each.accounts)))
      if (!used.has(accounts)) accounts.dispose()
  }

  /** Creates an app of simulated data, with accounts and purchases of the round. */
  function createTestApp(
    { accounts }: Round,
    history: MarketHistory,
    {
      isSlow = false,
      refuse = refuseFaulty,
      ...more
    }: Pick<AppParts, 'meters'> &
      Partial<Pick<SimulatedParts, 'refuse' | 'followed'>> & {
        isSlow?: boolean
        fetch?: FirstThreadParts['fetch']
      },
  ): ServedApp {
    const { meters, followed, fetch: ownFetch } = more
    return createApp({
      history,
      ledger: accounts.ledger,
      config,
      extensions,
      clock,
      timer,
      createId,
      randomBytes,
      log,
      version,
      limits,
      meters,
      reportExport,
      simulated: { authenticator: accounts.authenticator, refuse, followed },
      first: real.first && {
        ...real.first,
        billing: accounts.createBilling(isSlow),
        screen: async (address) => clearOf(address, clock()),
        signup: () => ({
          isOpen: false,
          reason: 'Signup is closed to test keys, because every well-formed test key works.',
        }),
        recording: () => undefined,
        operator: undefined,
        exports,
        fetch: ownFetch,
      },
    })
  }

  /** The app that answers with a store; undefined while that is being made. */
  function appOf(kind: Kind): ServedApp | undefined {
    const now = current()
    const known = now.apps.get(kind)
    if (known !== undefined) return known
    const stored = open(storeOf(kind))
    if (stored === undefined) return undefined
    // The file is read-only.
    const history = { ...stored, probeWrite: async () => undefined }
    // Streams that end after the hours are over follow the same clock.
    const dayClock: Clock = () => TEST_DAY_MS + clock() - now.number * TEST_SPAN_MS
    const app = createTestApp(now, history, {
      isSlow: kind === 'payment_pending',
      followed: { history: createDayView(history, dayClock), clock: dayClock },
    })
    now.apps.set(kind, app)
    return app
  }

  /** Creates the app of a kind in turns, between which other requests are answered. */
  async function begin(kind: Kind): Promise<ServedApp | undefined> {
    const store = storeOf(kind)
    await othersTurn()
    if (open(store) === undefined) await hold?.(store)
    if (open(store) === undefined) return undefined
    await othersTurn()
    return appOf(kind)
  }

  /** The simulated day, for the names of its markets; throws `unavailable` until it is made. */
  function day(): MarketHistory {
    const stored = open('day')
    if (stored !== undefined) return stored
    // After a failure, the next caller starts another try.
    void hold?.('day')
    throw makingError(secondsLeft('day'))
  }

  /** An empty history with the names of markets, because a tool may name a market without its coin. */
  const withNames = (empty: MarketHistory): MarketHistory => ({
    ...empty,
    findMarket: (conditionId) => day().findMarket(conditionId),
    findMarketBySlug: (slug) => day().findMarketBySlug(slug),
    findMarketByAsset: (assetId) => day().findMarketByAsset(assetId),
  })

  /**
   * The app for requests that need no data, such as agents' requests for the list of tools; it
   * refuses all others. Its requests count in the metrics of the server.
   */
  function placeholder(): ServedApp {
    const now = current()
    noData ??= withNames(openHistory(':memory:'))
    now.placeholder ??= createTestApp(now, noData, {
      meters: real.meters,
      fetch,
      refuse: ({ request }) =>
        needsNoData(request)
          ? undefined
          : makingError(secondsLeft(storeOf(kindOf(faultOf(request))))),
    })
    return now.placeholder
  }

  const answerWithoutData: ServedApp['fetch'] = (request, peers) => {
    if (otherwise !== undefined) return otherwise(request, peers)
    const answer = placeholder().fetch(request, peers)
    return answer instanceof Promise ? answer.then(markAsTest) : markAsTest(answer)
  }

  const fetch: ServedApp['fetch'] = (request, peers) => {
    if (needsNoData(request)) return answerWithoutData(request, peers)
    const fault = faultOf(request)
    const kind = kindOf(fault)
    const answer = (app: ServedApp | undefined): Response | Promise<Response> => {
      if (app === undefined) return answerWithoutData(request, peers)
      const response = app.fetch(request, peers)
      if (fault !== 'slow' && !(response instanceof Promise)) return markAsTest(response)
      return markLate(response, fault === 'slow' ? sleep : undefined)
    }
    return current().apps.has(kind) ? answer(appOf(kind)) : begin(kind).then(answer)
  }

  const all = () => [...(round ? [round] : []), ...ending].flatMap(appsOf)

  return {
    fetch,
    /** The sockets of the app; undefined while there are no data. */
    sockets: () => appOf('day')?.stream.websocket,
    /** As `tick` of an app, for all apps. */
    tick(): boolean {
      if (round === undefined) return false
      current()
      forget()
      return all().filter((app) => app.tick()).length > 0
    },
    async flushUsage(): Promise<boolean> {
      return (await Promise.all(all().map((app) => app.flushUsage()))).includes(true)
    },
    takeUsage: () => all().flatMap((app) => app.takeUsage()),
    putUsage(taken: ReturnType<ServedApp['takeUsage']>): void {
      if (taken.length > 0) appOf('day')?.putUsage(taken)
    },
    drain(): void {
      for (const app of all()) app.drain()
    },
  }
}

/** Errors are not delayed, because their number is not limited. */
async function markLate(
  answer: Response | Promise<Response>,
  sleep: ((ms: number) => Promise<void>) | undefined,
): Promise<Response> {
  const response = markAsTest(await answer)
  if (response.ok) await sleep?.(SLOW_MS)
  return response
}

const kindOf = (fault: TestFault | undefined): Kind =>
  fault === 'gap' || fault === 'stale' || fault === 'payment_pending' ? fault : 'day'

const storeOf = (kind: Kind): TestStore => (kind === 'payment_pending' ? 'day' : kind)

const appsOf = ({ apps, placeholder }: Round): ServedApp[] =>
  placeholder === undefined ? [...apps.values()] : [...apps.values(), placeholder]

const makingError = (secondsLeft: number) =>
  new AppError(
    'unavailable',
    `The server is making its test data, which happens once. Try again in ${secondsLeft} s.`,
    { retryAfterSeconds: secondsLeft },
  )

/** Creates the test server beside a real one. `start` begins to make its data. */
export function createTestMode(
  context: CliContext,
  { real, limits, exports }: Pick<TestServerParts, 'real' | 'limits' | 'exports'>,
) {
  const data = createTestData(context, { timer: real.timer, log: context.printError })
  const { open, hold, secondsLeft } = data
  const sleep = (ms: number) => Bun.sleep(ms)
  return {
    server: createTestServer({ real, limits, exports, open, hold, secondsLeft, sleep }),
    start(): Job {
      data.request('day')
      return { dispose: data.dispose }
    },
  }
}

const MB = 1_000_000

/**
 * `max` applies to all test keys, and `groupMax` to those of one network address, because anyone
 * can make keys. `firstMax` applies to addresses that hold nothing yet.
 */
const bounds = {
  jobs: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 8 },
  streams: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 4 },
  connections: { rooms: [{ max: 48, firstMax: 64 }], groupMax: 8 },
  bytes: { rooms: [{ max: 32 * MB, firstMax: 40 * MB }], groupMax: 8 * MB },
} satisfies Record<string, Bounds>

/**
 * Limits of the test server. They are much lower than those of the real server, and separate. Rate
 * windows are those of addresses without a key; all other limits are per thread.
 */
function createTestLimits(limits: Limits): Limits {
  const places = (of: Bounds) => createConcurrencyLimit(of, createCounts())
  return {
    ...limits,
    keys: limits.addresses,
    jobs: places(bounds.jobs),
    streams: places(bounds.streams),
    connections: places(bounds.connections),
    bytes: places(bounds.bytes),
    signups: createSignupWindows(),
  }
}
