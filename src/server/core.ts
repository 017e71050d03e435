/** What every route of an app depends on: callers, their limits, caches and the queue of work. */

import { type Authenticator, createAuthenticator } from '#src/access/authenticator.ts'
import { createGate, type Refuse } from '#src/access/gate.ts'
import { createLimits, type Limits } from '#src/access/limits.ts'
import { createOperatorCheck, type OperatorAccess } from '#src/access/operator.ts'
import { createSample, createSampleChoice, type SampleChoice } from '#src/access/sample.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Config } from '#src/config/config.ts'
import { createCursorCodec } from '#src/domain/cursor.ts'
import { createMarketFinder } from '#src/domain/market.ts'
import { alwaysCurrent, type StaleSince } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import type { ExportRecords } from '#src/features/exports/records.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket, isCovered } from '#src/history/reads/market-pages.ts'
import { createApi } from '#src/http/api.ts'
import { createKeptAnswers } from '#src/http/data-response.ts'
import type { Gate } from '#src/http/gate.ts'
import { makeMeterMemory, type Meters, openMeters } from '#src/http/meters.ts'
import { createTargetCache } from '#src/http/route-table.ts'
import { createUnread } from '#src/http/unread.ts'
import { createWork, type Work } from '#src/http/work.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'
import { createPageCache } from '#src/platform/page-cache.ts'

import type { ServerExtension } from './extension.ts'

/** The share of a market's time of which the sample is content. */
const WELL_COVERED = 0.9

const noOperator: OperatorAccess = { token: '', trustsLoopback: false }

/** What each thread has that answers requests for data. */
export type ReaderDeps = {
  history: MarketHistory
  ledger: Ledger
  clock: Clock
  /** Since when what is served is stale, where it is a copy. */
  staleSince?: StaleSince | undefined
  /** Monotonic milliseconds. */
  timer: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits. */
  createId: () => string
  randomBytes: (length: number) => Uint8Array
  config: Config
  extensions: readonly ServerExtension[]
  /** Where they are shared with other threads. */
  limits?: Limits | undefined
  /** Where it is shared with other threads. */
  sampleChoice?: SampleChoice | undefined
  /** Where what was answered is counted, if others are to know. */
  meters?: Meters | undefined
  /** Take what becomes of exports: of those of callers, and of test keys. */
  exports?: Pick<ExportRecords, 'put'> | undefined
  testExports?: Pick<ExportRecords, 'put'> | undefined
  /** Takes lines of the access log, newline included. */
  log: (line: string) => void
  version: string
  /** When a recorder that fell silent last sent something; undefined while none is silent. */
  silence?: (() => number | undefined) | undefined
  /** In place of the real one, to measure what it costs. */
  gate?: Gate
  /** In place of one that reads the ledger. */
  authenticator?: Authenticator | undefined
  /** Resolves when the ledger that keys are found in has what was committed before. */
  catchUp?: (() => Promise<void>) | undefined
  /** Why a request is refused, before it is counted. */
  refuse?: Refuse | undefined
  /** What live streams follow, if it is not the history as it is written. */
  followed?: Followed | undefined
  /** Whether callers may pay in place of sending a key; by default as extensions say. */
  sellsWithoutKey?: boolean
  /** In place of the real one, to test what does not depend on time. */
  work?: Work
}

/** A history and the clock that its rows are followed by. */
export type Followed = { history: MarketHistory; clock: Clock }

export type Core = ReturnType<typeof createCore>

export function createCore(
  options: ReaderDeps & { servedLedger?: Ledger | undefined },
  clock: Clock,
  operator = noOperator,
) {
  const { history, ledger, config, timer, randomBytes, extensions } = options
  const { limits = createLimits(config.streamsMax) } = options
  const { servedLedger = ledger, catchUp, staleSince = alwaysCurrent } = options
  const { sellsWithoutKey = extensions.some((own) => own.sellsWithoutKey?.(config)) } = options
  const { findPack } = servedLedger.payments
  const {
    authenticator = createAuthenticator({
      ledger: servedLedger,
      clock,
      staleSince,
      findPack: sellsWithoutKey ? findPack : undefined,
    }),
  } = options
  const { listTiers, authenticate } = authenticator
  const addressOf = createClientAddress(createNetworkSet(config.trustedProxies))
  const findMarket = createMarketFinder(history)
  const meter = createUsageMeter({ ledger, clock, randomBytes })
  const sample = createSample({
    choice: config.sampleMarket,
    findMarket,
    listTiers,
    sourcesOf: history.sourcesOf,
    findExample: () => findExampleMarket(history),
    isWellCovered: (market) => isCovered(history, market, WELL_COVERED),
    chosen: options.sampleChoice ?? createSampleChoice(),
    timer,
  })
  const gate = createGate({
    authenticator,
    meter,
    limits,
    addressOf,
    signupsPerDay: config.signupsPerDay,
    clock,
    timer,
    sampleTerms: sample.terms,
    isKeyless: sellsWithoutKey,
    refuse: options.refuse,
    catchUp,
  })
  // One for all: whatever arrives waits for one step of the long work of all routes.
  const work = options.work ?? createWork({ timer, limits })
  const assertOperator = createOperatorCheck({ ...operator, addressOf, timer })
  const pages = createPageCache(config.pageCacheBytes)
  const targets = createTargetCache()
  const kept = createKeptAnswers({
    assertOperator,
    listTiers,
    sample,
    findMarket,
    pages,
    work,
    targets,
    staleSince,
  })
  const { chargeSignup } = gate
  const api = createApi({
    assertOperator,
    listTiers,
    sample,
    findMarket,
    chargeSignup,
    work,
    kept,
    staleSince,
  })
  return {
    api,
    gate,
    limits,
    meter,
    sample,
    work,
    pages,
    targets,
    kept,
    findMarket,
    listTiers,
    authenticate,
    assertOperator,
    sellsWithoutKey,
    cursors: createCursorCodec(history.cursorKey),
    meters: options.meters ?? openMeters(makeMeterMemory()),
    unread: createUnread(limits),
  }
}
