/**
 * Applies random verbs to a store until it is killed, and prints a line for each applied one.
 * Refused verbs are skipped. Arguments: the store, its place, a seed.
 */
import { writeSync } from 'node:fs'

import { type GapReason, gapReasons } from '#src/domain/coverage.ts'
import { outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { ACTIVITY_STEP_MS, type Ledger } from '#src/ledger/ledger.ts'
import { createRandom } from '#src/platform/random.ts'

import {
  assetIdOf,
  conditionIdOf,
  createBookMaker,
  randomHash,
  START_MS,
} from '../history/books.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  keyIdOf,
  NOW_MS,
  someUsage,
  tierOf,
} from '../ledger/ledger-records.ts'
import { buy, claimUpTo, openOffer } from '../ledger/payment-records.ts'
import { openHistoryIn, openLedgerIn } from './stores.ts'

const MARKETS = 6
const RECORDS = 40
const [store, place = '', seed = ''] = process.argv.slice(2)
const random = createRandom(`verbs ${seed}`)
let count = 0

type Verb = () => unknown

const marketNumber = (): number => 1 + random.integer(MARKETS)

function randomRows(): Snapshot[] {
  const isMixed = random.integer(3) === 0
  const only = marketNumber()
  const make = createBookMaker(random)
  // Each second of a run is later than the written data, and some rows are late.
  const fromMs = START_MS + (random.integer(3) === 0 ? random.integer(60_000) : count * 500)
  return Array.from({ length: random.pick([1, 1, 3, 20, 150]) }, (_, at) => {
    const conditionId = conditionIdOf(isMixed ? marketNumber() : only)
    const outcome = random.pick(outcomes)
    const identity = { coin: 'btc', timeframe: '5m', conditionId, outcome } as const
    const assetId = assetIdOf(conditionId, outcome)
    const timestampMs = fromMs + at * random.integer(40)
    const sourceHash = random.integer(2) === 0 ? randomHash(random) : undefined
    return { ...identity, assetId, timestampMs, ...make(), sourceHash }
  })
}

function historyVerbs(history: MarketHistory): Verb[] {
  const conditionId = (): string => conditionIdOf(marketNumber())
  const id = (): string => `${seed}-${count}`
  const aGap = () => {
    const fromMs = START_MS + random.integer(60_000)
    const reason: GapReason = random.pick(gapReasons)
    return {
      outcome: random.pick(outcomes),
      fromMs,
      toMs: fromMs + 1 + random.integer(5000),
      reason,
    }
  }
  const aTrade = () => ({
    timestampMs: START_MS + random.integer(60_000),
    price: 1 + random.integer(999_999),
    outcome: random.pick(outcomes),
    size: 1 + random.integer(10_000),
    side: random.pick(['buy', 'sell'] as const),
  })
  const append: Verb = () =>
    history.append({ id: id(), source: 'simulated', snapshots: randomRows() })
  return [
    append,
    append,
    append,
    () =>
      history.record({
        source: 'simulated',
        snapshots: randomRows(),
        trades: [{ conditionId: conditionId(), trade: aTrade() }],
        gaps: [{ kind: 'opened', conditionId: conditionId(), gap: aGap() }],
      }),
    () => history.putGaps(conditionId(), [aGap(), aGap()]),
    () => history.putTrades({ id: id(), conditionId: conditionId(), trades: [aTrade(), aTrade()] }),
    () =>
      history.putReceipts(
        [{ tradeId: 1 + random.integer(count + 1), isSuccess: random.integer(4) > 0 }],
        1 + random.integer(count + 1),
      ),
    () =>
      history.putSpot([
        {
          coin: 'btc',
          source: random.pick(['chainlink', 'pyth']),
          windowSeconds: 0,
          timestampMs: START_MS + random.integer(60_000),
          price: String(60_000 + random.integer(1000)),
        },
      ]),
    () =>
      history.putMarket({
        conditionId: conditionId(),
        coin: 'btc',
        timeframe: '5m',
        source: 'simulated',
        windowStartMs: START_MS,
        windowEndMs: START_MS + 300_000,
        question: `Question ${random.integer(5)}?`,
      }),
    () =>
      history.putOutcomes([
        {
          coin: 'btc',
          timeframe: '5m',
          source: 'simulated',
          windowStartMs: START_MS,
          winner: random.pick(outcomes),
          strike: String(random.integer(3)),
          finalPrice: String(random.integer(3)),
        },
      ]),
    () => history.close(conditionId()),
    async () => random.integer(8) === 0 && (await history.deleteOldest(START_MS + 3_600_000)),
  ]
}

function ledgerVerbs(ledger: Ledger): Verb[] {
  const number = (): number => 1 + random.integer(RECORDS)
  const fresh = (): number => Number(seed) * 1_000_000 + count
  const operator = () => by(NOW_MS + count)
  return [
    () => ledger.createAccount({ id: accountIdOf(number()), address: addressOf(number()) }, by()),
    () => ledger.createKey(aKey(fresh(), { accountId: accountIdOf(number()) }), operator()),
    () => ledger.signUp(aSignup(fresh()), NOW_MS),
    () => ledger.signUp(aSignup(fresh(), { address: addressOf(number()) }), NOW_MS),
    () => ledger.revokeKey(random.pick(ledger.listKeys()).id, operator()),
    () => ledger.labelKey(random.pick(ledger.listKeys()).id, `label ${count}`, operator()),
    () => ledger.setBlocked(accountIdOf(number()), random.integer(2) === 0, operator()),
    () =>
      ledger.addSubscription(
        aSubscription(fresh(), { accountId: accountIdOf(number()) }),
        operator(),
      ),
    // Two entries of the catalogue swap ranks through a third.
    () =>
      ledger.atomically((transaction) => {
        const pro = tierOf('pro')
        const free = tierOf('free')
        const ranks = transaction.listTiers().find(({ tierId }) => tierId === 'pro')?.rank
        const isSwapped = ranks !== pro.rank
        transaction.putTier({ ...pro, rank: 1000 }, operator())
        transaction.putTier({ ...free, rank: isSwapped ? free.rank : pro.rank }, operator())
        transaction.putTier({ ...pro, rank: isSwapped ? pro.rank : free.rank }, operator())
      }),
    () => ledger.addUsage([someUsage(number()), someUsage(number(), { route: 'snapshots' })]),
    () => ledger.addUsage([someUsage(number())], { meter: `2026-11-21 ${seed}`, number: count }),
    () => ledger.pruneUsage(random.integer(20) === 0 ? '2026-11-22' : '2026-11-01'),
    async () => {
      const stepMs = NOW_MS + random.integer(9) * ACTIVITY_STEP_MS
      await ledger.putActivity(
        [
          {
            stepMs,
            server: seed,
            requests: count,
            errors: random.integer(3),
            durations: [count],
            problems: { internal: count },
            recorder: random.integer(2) === 0 ? undefined : { startedMs: 1, rows: 2, lagMs: count },
          },
        ],
        random.integer(20) === 0 ? stepMs : 0,
      )
    },
    () =>
      ledger.putAnswer(
        { id: `answer ${count % 7}`, fingerprint: 'f', sealed: new Uint8Array([count % 256]) },
        NOW_MS + random.integer(3) * 40_000_000,
      ),
    () =>
      ledger.putSanctionsList(
        {
          publishedOn: '2026-11-20',
          confirmedMs: NOW_MS + count,
          sha256: randomHash(random),
          addresses: new Set(
            Array.from({ length: 1 + random.integer(9) }, () => addressOf(number())),
          ),
          lossPercentMax: undefined,
        },
        operator(),
      ),
    () => openOffer(ledger, fresh()),
    () => claimUpTo(ledger, fresh(), { state: random.pick(['settling', 'rejected', 'review']) }),
    () => buy(ledger, fresh(), { nowMs: NOW_MS + count }),
    () => ledger.forgetIdle({ afterId: '', limit: 5, idleSinceMs: NOW_MS + 9 }, operator()),
    () => ledger.noteJob({ name: 'backup', acceptsLoss: false }, operator()),
    () => keyIdOf(number()),
  ]
}

const verbs =
  store === 'history'
    ? historyVerbs(await openHistoryIn(place))
    : ledgerVerbs(await openLedgerIn(place, { nowMs: NOW_MS }))

for (; ; count++) {
  try {
    await random.pick(verbs)()
    writeSync(1, `${count}\n`)
  } catch {
    // It contradicts a write of the other process, or has nothing to refer to.
  }
}
