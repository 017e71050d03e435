/**
 * The test server: simulated hours, a ledger in memory and faults on request. Each kind of data has
 * an app of its own, so no test key can reach anything real. Live streams begin again each time the
 * hours are over, and the ledger begins again each day (UTC).
 */

import { setImmediate as othersTurn } from 'node:timers/promises'

import { createSignupWindows, type Limits } from '#src/access/limits.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { pathOf, targetOf } from '#src/http/target.ts'
import type { Arrival } from '#src/http/visit.ts'
import { createDayView } from '#src/live/day-view.ts'
import {
  type Bounds,
  createConcurrencyLimit,
  createCounts,
} from '#src/platform/concurrency-limit.ts'
import { TEST_DAY_MS, TEST_SPAN_MS, type TestStore } from '#src/simulator/test-day.ts'

import { type AppDeps, createApp, type Reader } from './app.ts'
import type { ReaderDeps } from './core.ts'
import type { CliContext } from './extension.ts'
import { clearOf, openTestAccounts, type TestAccounts } from './test-accounts.ts'
import { createTestData, testFolderOf } from './test-data.ts'
import { faultOf, markAsTest, refuseFaulty, SLOW_MS, type TestFault } from './test-faults.ts'

/** Streams of hours that are over have ended by then. */
const ENDING_MS = 90_000
const PAGE_CACHE_BYTES = 1024 * 1024
/** Quotes and payments of a day, all of them in memory; after these it begins again early. */
const DEALS_MAX = 20_000

/** A store with the chain that settles at once, or one that shows no payment yet. */
type Kind = TestStore | 'payment_pending'
type Served = Pick<
  Reader,
  'fetch' | 'stream' | 'tick' | 'drain' | 'flushUsage' | 'takeUsage' | 'putUsage'
>

type Options<Deps extends ReaderDeps> = {
  /** As the real server has them. */
  deps: Deps & { limits: Limits; origin?: () => string }
  createApp: (deps: Deps) => Served
  /** Returns undefined while the store is being made. */
  open: (store: TestStore) => MarketHistory | undefined
  /** Has a store made, and waits for it a while. */
  hold?: ((store: TestStore) => Promise<void>) | undefined
  /** Seconds until a store will be there. */
  secondsLeft?: ((store: TestStore) => number) | undefined
  /** Answers while a store is being made; by default the placeholder of this server. */
  otherwise?: Served['fetch'] | undefined
  sleep: (ms: number) => Promise<void>
  dealsMax?: number | undefined
}

/** One run of the hours: `number` counts from 1970. */
type Round = {
  number: number
  accounts: TestAccounts
  apps: Map<Kind, Served>
  /** The app that answers without data. */
  placeholder?: Served
}

export type TestServer = ReturnType<typeof createTestServer>

export function createTestServer<Deps extends ReaderDeps>({
  deps,
  createApp,
  open,
  hold,
  secondsLeft = () => 1,
  otherwise,
  sleep,
  dealsMax = DEALS_MAX,
}: Options<Deps>) {
  const { ledger, clock, timer, createId, config, origin = () => '' } = deps
  const pathsWithoutData = new Set(
    deps.extensions.flatMap((extension) => extension.pathsWithoutData ?? []),
  )
  const needsNoData = ({ url }: Request) => pathsWithoutData.has(pathOf(targetOf(url)))
  /** In place of what the real server has. */
  const shared = {
    limits: createTestLimits(deps.limits),
    config: {
      ...config,
      sampleMarket: 'off',
      pageCacheBytes: PAGE_CACHE_BYTES,
      // What extensions keep in a data folder is none of test mode.
      dataPath: testFolderOf(config.dataPath),
    },
    operator: undefined,
    meters: undefined,
    sellsWithoutKey: false,
    silence: undefined,
    staleSince: undefined,
    servedLedger: undefined,
    catchUp: undefined,
    recording: () => undefined,
    exports: deps.testExports,
    signup: () => ({
      isOpen: false,
      reason: 'Signup is closed to test keys, because every well-formed test key works.',
    }),
    screen: async (address: string) => clearOf(address, clock()),
  } satisfies Partial<Omit<AppDeps, 'exports'>> & Pick<ReaderDeps, 'exports'>
  let noData: MarketHistory | undefined
  let round: Round | undefined
  /** Rounds that are over, while their streams end. */
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

  /** Closes the ledgers of rounds whose streams have ended. */
  function forget(): void {
    const over = ending.filter(({ untilMs }) => timer() >= untilMs)
    ending = ending.filter(({ untilMs }) => timer() < untilMs)
    const used = new Set([round, ...ending].map((each) => each?.accounts))
    for (const accounts of new Set(over.map((each) => each.accounts)))
      if (!used.has(accounts)) accounts.dispose()
  }

  const billedBy = ({ accounts }: Round, isSlow: boolean) => ({
    ledger: accounts.ledger,
    authenticator: accounts.authenticator,
    billing: accounts.createBilling(isSlow),
  })

  /** The app that answers with a store; undefined while that is being made. */
  function appOf(kind: Kind): Served | undefined {
    const now = current()
    const known = now.apps.get(kind)
    if (known !== undefined) return known
    const stored = open(storeOf(kind))
    if (stored === undefined) return undefined
    // It is read only, and its exports are small enough to be made in this thread.
    const history = { ...stored, path: undefined, probeWrite: () => undefined }
    // For streams that end after the hours are over, time goes on.
    const dayClock: Clock = () => TEST_DAY_MS + clock() - now.number * TEST_SPAN_MS
    const app = createApp({
      ...deps,
      ...shared,
      ...billedBy(now, kind === 'payment_pending'),
      history,
      followed: { history: createDayView(history, dayClock), clock: dayClock },
      refuse: refuseFaulty,
    })
    now.apps.set(kind, app)
    return app
  }

  /** Begins a kind of this round in turns, between which other requests are answered. */
  async function begin(kind: Kind): Promise<Served | undefined> {
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
    // After a failure, the next caller has it made again.
    void hold?.('day')
    throw makingError(secondsLeft('day'))
  }

  /** No data but the names of markets: a tool may name a market without its coin. */
  const withNames = (empty: MarketHistory): MarketHistory => ({
    ...empty,
    findMarket: (conditionId) => day().findMarket(conditionId),
    findMarketBySlug: (slug) => day().findMarketBySlug(slug),
    findMarketByAsset: (assetId) => day().findMarketByAsset(assetId),
  })

  /**
   * Answers requests that need no data, such as those of agents for the tools, and refuses all
   * others. Its requests count in the metrics of the server.
   */
  function placeholder(): Served {
    const now = current()
    noData ??= withNames(openHistory(':memory:'))
    now.placeholder ??= createApp({
      ...deps,
      ...shared,
      ...billedBy(now, false),
      history: noData,
      meters: deps.meters,
      ownFetch: fetch,
      refuse: ({ request }: Arrival) =>
        needsNoData(request)
          ? undefined
          : makingError(secondsLeft(storeOf(kindOf(faultOf(request))))),
    })
    return now.placeholder
  }

  const answerWithoutData: Served['fetch'] = (request, peers) => {
    if (otherwise !== undefined) return otherwise(request, peers)
    const answer = placeholder().fetch(request, peers)
    return answer instanceof Promise ? answer.then(markAsTest) : markAsTest(answer)
  }

  const fetch: Served['fetch'] = (request, peers) => {
    if (needsNoData(request)) return answerWithoutData(request, peers)
    const fault = faultOf(request)
    const kind = kindOf(fault)
    const answer = (app: Served | undefined): Response | Promise<Response> => {
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
    /** Takes over connections; undefined while there are no data. */
    sockets: () => appOf('day')?.stream.websocket,
    /** As those of an app, for all apps of the test server. */
    tick(): boolean {
      if (round === undefined) return false
      current()
      forget()
      return all().filter((app) => app.tick()).length > 0
    },
    flushUsage: () =>
      all()
        .map((app) => app.flushUsage())
        .includes(true),
    takeUsage: () => all().flatMap((app) => app.takeUsage()),
    putUsage(taken: ReturnType<Reader['takeUsage']>): void {
      if (taken.length > 0) appOf('day')?.putUsage(taken)
    },
    drain(): void {
      for (const app of all()) app.drain()
    },
  }
}

/** Errors are not late, because nothing bounds how many a client may wait for. */
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

const appsOf = ({ apps, placeholder }: Round): Served[] =>
  placeholder === undefined ? [...apps.values()] : [...apps.values(), placeholder]

const makingError = (secondsLeft: number) =>
  new AppError(
    'unavailable',
    `The server is making its test data, which happens once. Try again in ${secondsLeft} s.`,
    { retryAfterSeconds: secondsLeft },
  )

/** The test server beside a real one. `prepare` makes its data; call it when the server listens. */
export function startTestServer(context: CliContext, deps: AppDeps & { limits: Limits }) {
  const data = createTestData(context, { timer: deps.timer, log: context.printError })
  const { open, hold, secondsLeft } = data
  const sleep = (ms: number) => Bun.sleep(ms)
  return {
    server: createTestServer({ deps, createApp, open, hold, secondsLeft, sleep }),
    prepare: () => data.request('day'),
    dispose: data.dispose,
  }
}

const MB = 1_000_000

/**
 * `max` is for all test keys together, and `groupMax` for those of one network address, because
 * everybody can make keys. `firstMax` is for addresses that hold nothing yet.
 */
const bounds = {
  jobs: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 8 },
  streams: { rooms: [{ max: 12, firstMax: 16 }], groupMax: 4 },
  connections: { rooms: [{ max: 48, firstMax: 64 }], groupMax: 8 },
  bytes: { rooms: [{ max: 32 * MB, firstMax: 40 * MB }], groupMax: 8 * MB },
} satisfies Record<string, Bounds>

/**
 * Limits of the test server: much lower than those of the real server, from which it takes none.
 * Rate windows are those of addresses without a key; each thread has its own for all else.
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
