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
import { openHistory } from '#src/history/open.ts'
import type { Arrival } from '#src/http/gate.ts'
import { pathOf, targetOf } from '#src/http/url.ts'
import { byOperator, type Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createDayView } from '#src/live/day-view.ts'
import { TEST_DAY_MS, TEST_SPAN_MS, type TestStore } from '#src/simulator/test-day.ts'

import { type AppDeps, createApp, type Reader, type ReaderDeps } from './app.ts'
import type { CliContext } from './context.ts'
import { createTestData, testFilesPathOf } from './test-data.ts'
import { faultOf, markAsTest, refuseFaulty, type TestFault } from './test-faults.ts'

/** How late the answers of the fault `slow` are; well within the patience of any client. */
export const SLOW_MS = 3_000
/** Streams of hours that are over have ended by then. */
const ENDING_MS = 90_000
const PAGE_CACHE_BYTES = 1024 * 1024
/** Quotes and payments of a day, all of them in memory; after these it begins again early. */
const DEALS_MAX = 20_000
const PAY_TO = '0x0000000000000000000000000000000000007358'

type Kind = TestStore | 'payment_pending' | 'desk'
type Served = Pick<
  Reader,
  'fetch' | 'stream' | 'tick' | 'drain' | 'flushUsage' | 'takeUsage' | 'putUsage'
>

type Options<Deps extends ReaderDeps> = {
  /** As the real server has them. */
  deps: Deps & { limits: Limits }
  createApp: (deps: Deps) => Served
  /** Returns undefined while the store is being made. */
  open: (store: TestStore) => MarketHistory | undefined
  /** Has a store made, and waits for it a while. */
  hold?: ((store: TestStore) => Promise<void>) | undefined
  /** Seconds until a store will be there. */
  secondsLeft?: ((store: TestStore) => number) | undefined
  /** Answers while a store is being made; by default the desk of this server. */
  otherwise?: Served['fetch'] | undefined
  sleep: (ms: number) => Promise<void>
  dealsMax?: number | undefined
}

type Day = ReturnType<typeof createDay>
/** The hours as they are played once: `number` counts from 1970. */
type Round = { number: number; apps: Map<Kind, Served>; day: Day }

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
  const { clock, timer } = deps
  const shared = createShared(deps)
  const pathsWithoutData = new Set(
    deps.extensions.flatMap((extension) => extension.pathsWithoutData ?? []),
  )
  const needsNoData = ({ url }: Request) => pathsWithoutData.has(pathOf(targetOf(url)))
  let noData: MarketHistory | undefined
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

  /** The app that answers with a store; undefined while that is being made. */
  function appOf(kind: Exclude<Kind, 'desk'>): Served | undefined {
    const { number, apps, day } = current()
    const known = apps.get(kind)
    if (known !== undefined) return known
    const stored = open(storeOf(kind))
    if (stored === undefined) return undefined
    // Nobody writes to it, and what is exported of it is little enough to be made here.
    const history = { ...stored, path: undefined, probeWrite: () => undefined }
    // For streams that end after the hours are over, time goes on.
    const dayClock: Clock = () => TEST_DAY_MS + clock() - number * TEST_SPAN_MS
    const app = createApp({
      ...deps,
      ...shared,
      ...day.partsOf(kind === 'payment_pending'),
      history,
      followed: { history: createDayView(history, dayClock), clock: dayClock },
      refuse: refuseFaulty,
    })
    apps.set(kind, app)
    return app
  }

  /** Begins a kind of this round in turns, between which other requests are answered. */
  async function begin(kind: Exclude<Kind, 'desk'>): Promise<Served | undefined> {
    const store = storeOf(kind)
    await othersTurn()
    if (open(store) === undefined) await hold?.(store)
    if (open(store) === undefined) return undefined
    await othersTurn()
    return appOf(kind)
  }

  /**
   * Answers requests that need no data, such as those of agents for the tools, and refuses all
   * others. What it answers counts in the metrics of the server.
   */
  function desk(): Served {
    const { apps, day } = current()
    const known = apps.get('desk')
    if (known !== undefined) return known
    noData ??= openHistory(':memory:')
    const app = createApp({
      ...deps,
      ...shared,
      ...day.partsOf(false),
      history: noData,
      meters: deps.meters,
      ownFetch: fetch,
      refuse: ({ request }: Arrival) =>
        needsNoData(request)
          ? undefined
          : makingError(secondsLeft(storeOf(kindOf(faultOf(request))))),
    })
    apps.set('desk', app)
    return app
  }

  const answerWithoutData: Served['fetch'] = (request, peers) => {
    if (otherwise !== undefined) return otherwise(request, peers)
    const answer = desk().fetch(request, peers)
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

  const all = () => [...(round ? [round] : []), ...ending].flatMap(({ apps }) => [...apps.values()])

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

/** Errors are not late, because nothing bounds how many a client may wait for. */
async function markLate(
  answer: Response | Promise<Response>,
  sleep: ((ms: number) => Promise<void>) | undefined,
): Promise<Response> {
  const response = markAsTest(await answer)
  if (response.ok) await sleep?.(SLOW_MS)
  return response
}

const kindOf = (fault: TestFault | undefined) =>
  fault === 'gap' || fault === 'stale' || fault === 'payment_pending' ? fault : 'day'

const storeOf = (kind: Exclude<Kind, 'desk'>): TestStore =>
  kind === 'payment_pending' ? 'day' : kind

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
    ...{ operator: undefined, meters: undefined, silence: undefined },
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
    partsOf: (isSlow: boolean) => ({ ledger, authenticator, billing: billingOf(isSlow) }),
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
