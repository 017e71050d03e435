/**
 * Every operation × every kind of caller × every coin. The catalogue is repeated here, so that
 * changing it requires a deliberate change of the test.
 */
import { coins } from '#src/domain/market.ts'
import { createApiKey } from '#src/domain/selling/api-key.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { readConfig } from './config.ts'
import { fakeBilling } from './fake-billing.ts'
import { addKey, createHarness, NOW_MS } from './harness.ts'
import type { KnownMarket } from './market-history.ts'
import type { Entry } from './openapi-document.ts'
import { accountOf, idOf, soundRequest } from './operation-requests.ts'
import { settled } from './settled.ts'

const WINDOW_MS = 60_000

export type TierFacts = { name: string; limit: number; coins: string[]; routes: string[] }

const all = {
  coins,
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
}
/** Lowest first; `test` is the tier of the harness. */
export const tierFacts: Record<string, TierFacts> = {
  free: { name: 'Free', limit: 10, coins: ['btc'], routes: ['markets', 'prices'] },
  starter: { name: 'Starter', limit: 60, coins: ['btc', 'eth'], routes: all.routes },
  pro: { name: 'Pro', limit: 300, ...all },
  enterprise: { name: 'Enterprise', limit: 1000, ...all },
  test: { name: 'Test', limit: 1_000_000, ...all },
}

/** `stranger` has no valid key. */
export type CallerFacts = {
  kind: string
  standing: 'valid' | 'stranger' | 'blocked'
  token: string | undefined
  /** The tier whose limits apply. */
  tier: string
}

const by = { actor: 'operator', nowMs: NOW_MS } as const
const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

/** Adds a caller of every kind to a ledger. */
function addCallers(ledger: Ledger): CallerFacts[] {
  const [revoked, expired, blocked] = ['enterprise', 'enterprise', 'pro'].map((tier) =>
    addKey(ledger, tier),
  ) as [string, string, string]
  settled(ledger.revokeKey(idOf(ledger, revoked), by))
  settled(ledger.expireKey(idOf(ledger, expired), NOW_MS, by))
  settled(ledger.setBlocked(accountOf({ ledger, key: blocked }, blocked), true, by))
  const stranger = { standing: 'stranger', tier: 'free' } as const
  const tiers = ['free', 'starter', 'pro', 'enterprise']
  return [
    { kind: 'nobody', token: undefined, ...stranger },
    { kind: 'malformed', token: `${createApiKey(randomBytes).slice(0, -1)}-`, ...stranger },
    { kind: 'unknown', token: createApiKey(randomBytes), ...stranger },
    { kind: 'revoked', token: revoked, ...stranger },
    { kind: 'expired', token: expired, ...stranger },
    { kind: 'blocked', token: blocked, standing: 'blocked', tier: 'pro' },
    ...tiers.map((tier) => ({
      kind: tier,
      token: addKey(ledger, tier),
      standing: 'valid' as const,
      tier,
    })),
  ]
}

/** A server with a caller of each kind. */
export function createMatrix(options: { history: MarketHistory; ledger?: Ledger }) {
  const config = readConfig({
    BOOKFEED_KEYS_PER_ACCOUNT: '1000',
    BOOKFEED_SIGNUPS_PER_DAY: '1000000',
  })
  const harness = createHarness({ billing: fakeBilling(), ...options, config })
  return { ...harness, callers: addCallers(harness.ledger) }
}
export type Matrix = ReturnType<typeof createMatrix>

export type Cell = { entry: Entry; caller: CallerFacts; coin: string; method: string }

/** Every cell of an operation, including HEAD for each GET. */
export function cellsOf({ callers }: Matrix, entry: Entry, coins: readonly string[]): Cell[] {
  const methods = entry.method === 'GET' ? ['GET', 'HEAD'] : [entry.method]
  const asked = entry.path.includes('{coin}') ? coins : ['btc']
  return callers.flatMap((caller) =>
    asked.flatMap((coin) => methods.map((method) => ({ entry, caller, coin, method }))),
  )
}

/** Sends a request that succeeds for a permitted caller, in a new rate window. */
export async function askCell(
  matrix: Matrix,
  { entry, caller, coin, method }: Cell,
  { conditionId }: Pick<KnownMarket, 'conditionId'>,
): Promise<Response> {
  const { token } = caller
  const { path, init } = await soundRequest(matrix, entry, { coin, conditionId, token })
  matrix.advance(WINDOW_MS)
  const headers = new Headers(init.headers)
  headers.set('origin', 'https://page.example')
  return matrix.sendAs(token, path, { ...init, headers, method })
}
