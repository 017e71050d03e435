/** The callers of an app: their keys, rights, limits and usage. */
import {
  type Authenticator,
  createAuthenticator,
  type LedgerCopy,
} from '#src/access/authenticator.ts'
import { createGate, type Refuse } from '#src/access/gate.ts'
import type { Limits } from '#src/access/limits.ts'
import { createLinks } from '#src/access/links.ts'
import { createOperatorCheck, type OperatorAccess } from '#src/access/operator.ts'
import { createSample, type SampleChoice } from '#src/access/sample.ts'
import { createUsageMeter } from '#src/access/usage-meter.ts'
import type { Config } from '#src/config/config.ts'
import type { FindMarket } from '#src/domain/market.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket, isCovered } from '#src/history/reads/market-pages.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'

/** The share of its window that a market of the sample covers. */
const WELL_COVERED = 0.9
const NO_OPERATOR: OperatorAccess = { token: '', trustsLoopback: false }

export type CallerParts = {
  history: MarketHistory
  findMarket: FindMarket
  ledger: Ledger
  /** The copy of the ledger in which keys are found; undefined if the ledger is a file. */
  ledgerCopy: LedgerCopy | undefined
  config: Pick<Config, 'trustedProxies' | 'sampleMarket' | 'signupsPerDay'>
  clock: Clock
  timer: Clock
  randomBytes: (length: number) => Uint8Array
  limits: Limits
  sampleChoice: SampleChoice
  /** True if callers may pay in place of sending a key. */
  isKeyless: boolean
  /** In place of the authenticator of the ledger. */
  authenticator: Authenticator | undefined
  /** Returns the reason to refuse a request before it is counted. */
  refuse: Refuse | undefined
  /** The operator's access; undefined if the operator's page is off. */
  operator: OperatorAccess | undefined
}

export type Callers = ReturnType<typeof createCallers>

export function createCallers({
  history,
  findMarket,
  ledger,
  ledgerCopy,
  config,
  clock,
  timer,
  randomBytes,
  limits,
  sampleChoice,
  isKeyless,
  authenticator = createAuthenticator({
    ledger,
    clock,
    copy: ledgerCopy,
    findPack: isKeyless ? ledger.payments.findPack : undefined,
  }),
  refuse,
  operator = NO_OPERATOR,
}: CallerParts) {
  const { listTiers } = authenticator
  const links = createLinks({ key: history.cursorKey, clock })
  const addressOf = createClientAddress(createNetworkSet(config.trustedProxies))
  const meter = createUsageMeter({ ledger, clock, randomBytes })
  const sample = createSample({
    choice: config.sampleMarket,
    findMarket,
    listTiers,
    sourcesOf: history.sourcesOf,
    findExample: () => findExampleMarket(history),
    isWellCovered: (market) => isCovered(history, market, WELL_COVERED),
    chosen: sampleChoice,
    timer,
  })
  const gate = createGate({
    authenticator,
    links,
    meter,
    limits,
    addressOf,
    signupsPerDay: config.signupsPerDay,
    clock,
    timer,
    sampleTerms: sample.terms,
    isKeyless,
    refuse,
  })
  const assertOperator = createOperatorCheck({ ...operator, addressOf, timer })
  return { authenticator, links, gate, listTiers, meter, sample, assertOperator, isKeyless }
}

/** Says how to get access without a key. `isSignupOpen`: undefined if only the first thread knows. */
export function describeWaysIn(config: Config, isSignupOpen: boolean | undefined): string {
  const ways: string[] = []
  if (config.sampleMarket !== 'off') {
    ways.push('`Authorization: Bearer sample` reads what GET /v1/sample lists')
  }
  if (config.hasTestMode) {
    ways.push(`\`Bearer ${PUBLIC_TEST_KEY}\` reads simulated data with every route`)
  }
  if (isSignupOpen !== false) {
    const where = isSignupOpen === undefined ? ', where it is open' : ''
    ways.push(`POST /v1/keys/challenge begins a signup${where}`)
  }
  if (ways.length === 0) return 'The operator of this server issues keys.'
  return `Without one: ${ways.join('; ')}.`
}
