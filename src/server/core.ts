/** What every route of an app depends on: callers, their limits, caches and the queue of work. */

import { createAuthenticator } from '#src/access/authenticator.ts'
import { createGate } from '#src/access/gate.ts'
import { createLimits } from '#src/access/limits.ts'
import { createOperatorCheck, type OperatorAccess } from '#src/access/operator.ts'
import { createSample } from '#src/access/sample.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import { createCursorCodec } from '#src/domain/cursor.ts'
import { createMarketFinder } from '#src/domain/market-name.ts'
import { alwaysCurrent } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import { findExampleMarket, isCovered } from '#src/history/reads/market-pages.ts'
import { createApi } from '#src/http/api.ts'
import { createKeptAnswers } from '#src/http/kept-answers.ts'
import { makeMeterMemory, openMeters } from '#src/http/meters.ts'
import { createTargetCache } from '#src/http/route-table.ts'
import { createUnread } from '#src/http/unread.ts'
import { createWork } from '#src/http/work.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'
import { createPageCache } from '#src/platform/page-cache.ts'

import type { AppDeps, ReaderDeps } from './app.ts'

/** The share of a market's time of which the sample is content. */
const WELL_COVERED = 0.9

const noOperator: OperatorAccess = { token: '', trustsLoopback: false }

export type Core = ReturnType<typeof createCore>

export function createCore(
  options: ReaderDeps & Pick<Partial<AppDeps>, 'servedLedger'>,
  clock: Clock,
  operator = noOperator,
) {
  const { history, ledger, config, timer, randomBytes, extensions } = options
  const { limits = createLimits(config.streamsMax) } = options
  const { servedLedger = ledger, catchUp, staleSince = alwaysCurrent } = options
  const { authenticator = createAuthenticator({ ledger: servedLedger, clock, staleSince }) } =
    options
  const { sellsWithoutKey = extensions.some((own) => own.sellsWithoutKey?.(config)) } = options
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
