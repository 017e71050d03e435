/** The routes of the first thread, which writes: keys, usage, sales, health, the operator, and pages. */
import { type AnyElysia, Elysia } from 'elysia'

import type { OperatorAccess } from '#src/access/operator.ts'
import type { Billing } from '#src/billing/billing.ts'
import { AppError, ifSound } from '#src/domain/errors.ts'
import { coins, coinTable, createMarketFinder } from '#src/domain/market.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import type { Wallets } from '#src/domain/selling/wallet.ts'
import type { Clock } from '#src/domain/time.ts'
import type { OperatorPorts } from '#src/features/admin/ports.ts'
import { adminRoutes } from '#src/features/admin/routes.ts'
import { billingRoutes } from '#src/features/billing/routes.ts'
import { documentationRoutes, findExamples } from '#src/features/documentation/routes.ts'
import type { ExportRecords } from '#src/features/exports/records.ts'
import { exportListRoutes } from '#src/features/exports/routes.ts'
import { type Fault, healthRoutes, type RecordingState } from '#src/features/health/routes.ts'
import { keyRoutes, testKeyRoutes } from '#src/features/keys/routes.ts'
import { describeSample, sampleRoutes } from '#src/features/sample/routes.ts'
import { streamDocumentRoutes } from '#src/features/stream/routes.ts'
import { usageRoutes } from '#src/features/usage/routes.ts'
import { type Api, declaredRoutes } from '#src/http/api.ts'
import { callOf, withEnding } from '#src/http/call.ts'
import { createIdempotency } from '#src/http/idempotency.ts'
import type { AssertOperator } from '#src/http/rights.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'

import type { Callers } from './callers.ts'
import type { AppServices, CliContext, DataServices, ServerExtension } from './extension.ts'
import { isLost, pageRoutes, PAGES_NAME } from './page-routes.ts'
import type { Pages, PagesOptions } from './pages.ts'
import { streamRows } from './streams.ts'

/** The parts that only the thread that writes has. */
export type FirstThreadParts = {
  billing: Billing
  screen: Screen
  wallets: Wallets
  signup: () => SignupState
  /** The address at which callers reach the server; known when it listens. */
  origin: () => string
  /** The state of the recorder; undefined if nothing is recorded. */
  recording: () => RecordingState | undefined
  /** Faults of `/readyz` besides those that it finds. None by default. */
  faults?: (() => readonly Fault[]) | undefined
  /** Names the nodes that are on another chain than configured. None by default. */
  nodes?: { onOtherChains: () => readonly { reason: string }[] } | undefined
  /** False until the jobs of the server run. */
  isStarted?: (() => boolean) | undefined
  /** The operator's page; undefined if it is off. */
  operator?: (OperatorPorts & { access: OperatorAccess }) | undefined
  /** Records of the exports of all threads; by default, those of the app. */
  exports?: ExportRecords | undefined
  /** Answers requests of extensions; the app by default. */
  fetch?: AppServices['fetch'] | undefined
  /** Writes lines about the server itself. */
  say?: Log | undefined
}

/** The app that the routes belong to. */
type AppAround = {
  api: Api
  dataRoutes: readonly AnyElysia[]
  /** The services of routes for data. */
  data: DataServices
  ledger: Ledger
  callers: Callers
  exports: ExportRecords
  extensions: readonly ServerExtension[]
  app: Pick<AppServices, 'fetch' | 'fetchAgain'>
  program: Pick<CliContext, 'createId' | 'randomBytes' | 'version'>
  timer: Clock
}

const STARTING = 'The server is starting.'

/** Composes the routes of the first thread with those for data. */
export function createFirstThreadRoutes(
  first: FirstThreadParts,
  { api, dataRoutes, data, ledger, callers, exports, extensions, app, program, timer }: AppAround,
) {
  const { billing, screen, wallets, signup, origin, operator } = first
  const { history, cursors, clock, config, listTiers } = data
  const { createId, randomBytes, version } = program
  const { gate, meter, sample, assertOperator } = callers
  let isRefusing = false

  const services: AppServices = {
    ...data,
    dataRoutes: () => declaredRoutes(dataRoutes),
    fetch: first.fetch ?? app.fetch,
    fetchAgain: app.fetchAgain,
    ledger,
    billing,
    wallets,
    randomBytes,
    sellsWithoutKey: callers.isKeyless,
    charge: gate.charge,
    chargeWindow: gate.chargeWindow,
    origin,
    version,
  }
  const ofExtensions = extensions.flatMap(({ routes }) => routes?.(api, services) ?? [])
  const idempotency = createIdempotency({ store: ledger, clock, randomBytes })

  const documented: AnyElysia[] = [
    ...dataRoutes,
    exportListRoutes(api, exports),
    ...(config.hasTestMode ? [testKeyRoutes(api, randomBytes)] : []),
    keyRoutes(api, {
      ledger,
      clock,
      randomBytes,
      createId,
      wallets,
      origin,
      screen,
      signup,
      keysPerAccountMax: config.keysPerAccountMax,
      idempotency,
    }),
    usageRoutes(api, {
      clock,
      windowsOf: gate.windowsOf,
      usageOf: meter.usageOf,
      creditsOf: ({ accountId }) => ledger.payments.listCredits(accountId),
    }),
    sampleRoutes(api, sample),
    billingRoutes(api, { billing, listTiers, cursors, clock, idempotency, randomBytes }),
    healthRoutes(
      api,
      {
        history,
        ledger,
        timer,
        faults: first.faults ?? (() => []),
        signup,
        recording: first.recording,
        billing,
        nodesOnOtherChains: first.nodes?.onOtherChains ?? (() => []),
        version,
        say: first.say ?? (() => undefined),
      },
      () =>
        first.isStarted?.() === false ? { holds: false, reason: STARTING } : { holds: !isRefusing },
    ),
    documentationRoutes(api),
    streamDocumentRoutes(api, version, streamRows),
    ...(operator === undefined
      ? []
      : [
          adminRoutes(api, {
            history,
            ledger,
            clock,
            createId,
            randomBytes,
            screen,
            signup,
            billing,
            config,
            version,
            operator,
          }),
        ]),
    ...ofExtensions.flatMap(({ plugins }) => plugins),
  ]

  const pages = createPagePlugin({
    documented,
    version,
    findExamples: () =>
      findExamples(
        history,
        extensions.flatMap((extension) => extension.findExamples?.(services) ?? []),
      ),
    prices() {
      // If the ledger does not answer, the document has no prices.
      const all = ifSound(() => ofExtensions.flatMap(({ prices }) => prices?.() ?? [])) ?? []
      return (route) => all.map((priceOf) => priceOf(route)).find((price) => price !== undefined)
    },
    findMarket: createMarketFinder(history),
    publicUrl: config.publicUrl,
    clock,
    facts: (request) => ({
      coins: Object.fromEntries(coins.map((coin) => [coin, coinTable[coin].name])),
      sample: ifSound(() => describeSample(sample)),
      isSelling: billing.sales().state !== 'closed',
      hasPayments: billing.isOpen,
      isSignupOpen: signup().isOpen,
      operator: operator === undefined ? 'off' : isOperator(request, assertOperator),
    }),
  })
  return {
    plugins: [...documented, pages.plugin],
    pages,
    hooks: ofExtensions.flatMap(({ hooks }) => hooks ?? []),
    answerUnpaid: ofExtensions.flatMap((extension) => extension.answerUnpaid ?? [])[0],
    findPage: (request: Request) =>
      isLost(request, callOf(request).target.path) ? pages.answer(request) : undefined,
    isSignupOpen: () => ifSound(() => signup().isOpen),
    /** Makes `GET /readyz` fail from now on. */
    refuse(): void {
      isRefusing = true
    },
  }
}

/** Creates the routes of pages. With the pages themselves, a start would take a third longer. */
function createPagePlugin({
  documented,
  ...options
}: PagesOptions & { documented: readonly AnyElysia[] }) {
  let pages: Promise<Pages> | undefined
  const load = (): Promise<Pages> =>
    (pages ??= import('./pages.ts').then((module) => module.createPages(options, documented)))
  async function answer(request: Request): Promise<Response> {
    const page = await (await load()).fetch(request)
    return withEnding(page, { route: PAGES_NAME })
  }
  const plugin = new Elysia({ name: 'pages' })
  for (const { path } of pageRoutes) plugin.get(path, ({ request }) => answer(request))
  return { load, answer, plugin }
}

/** `open` if the operator's page opens for this request without the token. */
function isOperator(request: Request, assertOperator: AssertOperator): 'open' | 'token' {
  try {
    assertOperator(request, callOf(request))
    return 'open'
  } catch (error) {
    if (error instanceof AppError) return 'token'
    throw error
  }
}
