/**
 * Test mode: an app of its own for each fault, over simulated hours and a ledger in memory, so that
 * its keys can reach nothing real. Live streams begin again each time the hours are over, and the
 * ledger begins again each day (UTC).
 */
import { setImmediate as othersTurn } from 'node:timers/promises'

import { createTestLimits, type Limits } from '#src/access/limits.ts'
import { createTestKeys, createTestUsage } from '#src/access/test-keys.ts'
import { type Billing, createBilling } from '#src/billing/billing.ts'
import { statusOf } from '#src/billing/offers.ts'
import { createTestChain, type TestBlocks } from '#src/chain/test-chain.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import { createFileStore } from '#src/files/store.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { faultOf, faultRefusal, markAsTest, type TestFault } from '#src/http/test-mode.ts'
import { byOperator, type Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createDayView } from '#src/live/day-view.ts'
import {
  type AppDeps,
  type AppTestMode,
  createApp,
  type Reader,
  type ReaderDeps,
} from '#src/server/app.ts'
import { TEST_DAY_MS, TEST_SPAN_MS, type TestStore } from '#src/simulator/test-day.ts'

import type { CliContext } from './context.ts'
import { startUsageFlush } from './server-jobs.ts'
import { createTestData, testFilesPathOf } from './test-data.ts'

/** How late the answers of the fault `slow` are; well within the patience of any client. */
export const SLOW_MS = 3_000
/** Streams of hours that are over have ended by then. */
const ENDING_MS = 90_000
const PAGE_CACHE_BYTES = 1024 * 1024
/** Quotes and payments of a day, all of them in memory; after these it begins again early. */
const DEALS_MAX = 20_000
const PAY_TO = '0x0000000000000000000000000000000000007358'

type Kind = TestStore | 'payment_pending'
type Served = Pick<
  Reader,
  'fetch' | 'stream' | 'tick' | 'drain' | 'flushUsage' | 'takeUsage' | 'putUsage'
>

type Deps<Real extends ReaderDeps> = {
  /** Of the app for real keys. */
  deps: Real & { limits: Limits }
  createApp: (deps: Real) => Served
  /** Undefined while it is being made. */
  open: (store: TestStore) => MarketHistory | undefined
  /** Has a store made, and waits for it a while. */
  hold?: ((store: TestStore) => Promise<void>) | undefined
  /** Seconds until a store will be there. */
  secondsLeft?: ((store: TestStore) => number) | undefined
  /** Answers while a store is being made; else the request waits, and is refused. */
  otherwise?: AppTestMode['fetch'] | undefined
  sleep: (ms: number) => Promise<void>
  dealsMax?: number | undefined
}

type Day = ReturnType<typeof createDay>
/** The hours as they are played once: `number` counts from 1970. */
type Round = { number: number; apps: Map<Kind, Served>; day: Day }

export type TestServer = ReturnType<typeof createTestServer>

export function createTestServer<Real extends ReaderDeps>(given: Deps<Real>) {
  const { deps, createApp, open, hold, secondsLeft, otherwise, sleep } = given
  const { dealsMax = DEALS_MAX } = given
  const { clock, timer } = deps
  const shared = createShared(deps)
  let round: Round | undefined
  /** Rounds that are over, while their streams end. */
  let ending: (Round & { untilMs: number })[] = []

  function current(): Round {
    const nowMs = clock()
    const number = Math.floor(nowMs / TEST_SPAN_MS)
    if (round?.number === number && !round.day.isFull()) return round
    for (const app of round?.apps.values() ?? []) app.drain()
    if (round !== undefined) ending.push({ ...round, untilMs: timer() + ENDING_MS })
    const day = round?.day.includes(nowMs) ? round.day : createDay(deps, dealsMax)
    round = { number, apps: new Map(), day }
    return round
  }

  function forget(): void {
    const over = ending.filter(({ untilMs }) => timer() >= untilMs)
    ending = ending.filter(({ untilMs }) => timer() < untilMs)
    const used = new Set([round?.day, ...ending.map(({ day }) => day)])
    for (const day of new Set(over.map((each) => each.day))) if (!used.has(day)) day.dispose()
  }

  function appOf(kind: Kind): Served | undefined {
    const { number, apps, day } = current()
    const known = apps.get(kind)
    if (known !== undefined) return known
    const history = open(storeOf(kind))
    if (history === undefined) return undefined
    const parts = day.partsOf(kind)
    const app = createApp({ ...deps, ...shared, ...parts, ...playing(history, number) })
    apps.set(kind, app)
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

  function playing(stored: MarketHistory, number: number) {
    // Nobody writes to it, and what is exported of it is little enough to be made here.
    const history = { ...stored, path: undefined, probeWrite: () => undefined }
    // For streams that end after the hours are over, time goes on.
    const dayClock: Clock = () => TEST_DAY_MS + clock() - number * TEST_SPAN_MS
    return { history, followed: { history: createDayView(history, dayClock), clock: dayClock } }
  }

  const all = () => [...(round ? [round] : []), ...ending].flatMap(({ apps }) => [...apps.values()])

  const testMode: AppTestMode = {
    fetch(request, peers) {
      const fault = faultOf(request)
      const kind = kindOf(fault)
      const answer = (app: Served | undefined): Response | Promise<Response> => {
        if (app === undefined && otherwise !== undefined) return otherwise(request, peers)
        if (app === undefined) throw makingError(secondsLeft?.(storeOf(kind)) ?? 1)
        const response = app.fetch(request, peers)
        if (fault !== 'slow' && !(response instanceof Promise)) return markAsTest(response)
        return markLate(response, fault === 'slow' ? sleep : undefined)
      }
      return current().apps.has(kind) ? answer(appOf(kind)) : begin(kind).then(answer)
    },
    sockets: () => appOf('day')?.stream.own,
  }

  return {
    ...testMode,
    /** As those of the app, of all of test mode. */
    tick(): boolean {
      if (round === undefined) return false
      current()
      forget()
      return all().filter((app) => app.tick()).length > 0
    },
    flushUsage: async () =>
      (await Promise.all(all().map((app) => app.flushUsage()))).includes(true),
    takeUsage: () => all().flatMap((app) => app.takeUsage()),
    putUsage(taken: ReturnType<Reader['takeUsage']>): void {
      if (taken.length > 0) appOf('day')?.putUsage(taken)
    },
    drain(): void {
      for (const app of all()) app.drain()
    },
  }
}

/** What is refused is not late: nobody waits here for more than his window has. */
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

const makingError = (secondsLeft: number) =>
  new AppError(
    'unavailable',
    `The data of test mode are being made, which happens once. Try again in ${secondsLeft} s, when they should be there.`,
    { retryAfterSeconds: secondsLeft },
  )

function createShared({ limits, config, clock, randomBytes }: ReaderDeps & { limits: Limits }) {
  const seed = Buffer.from(randomBytes(4)).readInt32LE()
  return {
    limits: createTestLimits(limits, seed),
    config: {
      ...{ ...config, sampleMarket: 'off', isKeyless: false },
      pageCacheBytes: PAGE_CACHE_BYTES,
    },
    // Not those of the data folder: there are none of the simulated day.
    files: createFileStore(testFilesPathOf(config.dataPath)),
    ...{ operator: undefined, testMode: undefined, meters: undefined, silence: undefined },
    refuse: faultRefusal,
    recording: () => undefined,
    signup: () => ({ isOpen: false, reason: 'Test mode has no signup: any key of it works.' }),
    screen: async (address: string) => clearOf(address, clock()),
  } satisfies Partial<AppDeps>
}

/** Of no list: nobody is paid. */
const clearOf = (address: string, timeMs: number): Verdict => ({
  ...{ verdict: 'clear', address: address.toLowerCase(), timeMs },
  grounds: { list: { answer: 'absent', isStale: false }, oracle: 'absent', issuers: 'absent' },
})

/** What is forgotten when the day is over. Of the real ledger the catalogue alone is read. */
function createDay({ ledger: real, clock, createId, ...deps }: ReaderDeps, dealsMax: number) {
  const stored = openLedger(':memory:', { nowMs: clock() })
  const ledger: Ledger = { ...stored, ...createTestUsage() }
  const listTiers = () => real.listTiers()
  const authenticator = createTestKeys({ ledger, clock, listTiers })
  const number = Math.floor(clock() / DAY_MS)
  const blocks: TestBlocks = new Map()
  let deals = 0
  const billingOf = (isSlow: boolean): Billing =>
    withAccounts(
      { ledger, clock, count: () => void deals++ },
      createBilling({
        ...{ ledger, listTiers, clock, createId, payTo: PAY_TO },
        chains: [createTestChain(blocks, isSlow)],
        screen: async (address) => clearOf(address, clock()),
        // It is as it is, however long one waits.
        sleep: () => Promise.resolve(),
        origin: 'origin' in deps ? (deps.origin as () => string) : () => '',
        log: () => undefined,
      }),
    )
  return {
    partsOf: (kind: Kind) => ({
      ledger,
      authenticator,
      billing: billingOf(kind === 'payment_pending'),
    }),
    /** Whether it is the day of a moment, and has room for another deal. */
    includes: (timeMs: number) => Math.floor(timeMs / DAY_MS) === number && deals < dealsMax,
    isFull: () => deals >= dealsMax,
    dispose: stored.dispose,
  }
}

/** What is bought so is a payer's, whose key would be none of test mode. */
const refuseUnquoted = async (): Promise<never> => {
  const message = 'Test mode sells by quote and settle alone: POST /v1/billing/x402/quote.'
  throw new AppError('billing_unavailable', message, { retryAction: 'abandon' })
}

type Dealing = { ledger: Ledger; clock: Clock; count: () => void }

/** An account is made for whoever asks for an offer, and the chain checked before the first. */
function withAccounts({ ledger, clock, count }: Dealing, billing: Billing): Billing {
  let checked: Promise<void> | undefined
  return {
    ...billing,
    // It is no chain, and takes all of its tokens at any time.
    chains: () => billing.chains().map(({ chain }) => statusOf(chain, () => undefined)),
    settle(...asked) {
      count()
      return billing.settle(...asked)
    },
    demand: refuseUnquoted,
    settleUnquoted: refuseUnquoted,
    async quote(caller, order) {
      count()
      checked ??= billing.refresh()
      await checked
      const id = caller.accountId
      if (!ledger.findAccount(id)) ledger.createAccount({ id }, byOperator(clock()))
      return billing.quote(caller, order)
    },
  }
}

/**
 * Test mode of a server, if it has one, with what ends it. `prepare` makes its data, which is to
 * begin when the server listens.
 */
export function startTestMode(context: CliContext, deps: AppDeps & { limits: Limits }) {
  if (!context.config().hasTestMode) return { test: undefined, jobs: [], prepare: () => undefined }
  const { printError } = context
  const { timer } = deps
  const data = createTestData(context, { timer, log: printError })
  const { open, hold, secondsLeft } = data
  const sleep = (ms: number) => Bun.sleep(ms)
  const test = createTestServer({ deps, createApp, open, hold, secondsLeft, sleep })
  const jobs = [startUsageFlush(test, printError), data]
  return { test, jobs, prepare: () => data.request('day') }
}

/** Looks at both; there is something left if one of them has something left. */
export const inOne = (app: Pick<Reader, 'tick'>, test?: Pick<TestServer, 'tick'>) => ({
  tick(): boolean {
    const isOwing = app.tick()
    return test?.tick() || isOwing
  },
})
