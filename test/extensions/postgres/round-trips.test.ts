/** How often a change waits for PostgreSQL, which may be far away. */
import { describe, expect, test } from 'bun:test'

import type { Offer } from '#src/domain/selling/payment.ts'
import { answerTimes } from '#src/extensions/postgres/answer-times.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'

import { openBilling, paid, payWithUsdc } from '../../billing/scripted-billing.ts'
import { aSnapshot, conditionIdOf, START_MS } from '../../history/books.ts'
import {
  accountIdOf,
  aKey,
  aSignup,
  by,
  createKeyOne,
  keyIdOf,
  NOW_MS,
  someUsage,
} from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openProxy } from '../../support/proxy-thread.ts'

const MS_MAX = 60_000
/** No answer comes before everything that is sent with its question. */
const LAG_MS = 50
const WARM = 2

describe.skipIf(postgresPrograms === undefined)('round trips to PostgreSQL', () => {
  const { placeOf } = usePostgres()

  function openLink(schema: string) {
    const url = new URL(placeOf(schema))
    const proxy = openProxy(Number(url.port))
    url.port = String(proxy.port)
    return { place: url.href, turns: proxy.turns, lag: proxy.lag, [Symbol.dispose]: proxy.stop }
  }

  /** Of `act`, once its statements are prepared. */
  async function count(
    { lag, turns }: ReturnType<typeof openLink>,
    act: (round: number) => unknown,
    prepare?: () => Promise<void>,
  ): Promise<number> {
    let before = 0
    for (let round = 0; round <= WARM; round++) {
      await prepare?.()
      lag(round === WARM ? LAG_MS : 0)
      before = turns()
      await act(round)
    }
    const trips = turns() - before
    lag(0)
    return trips
  }

  test(
    'behavior: a change of keys or usage takes few',
    async () => {
      using link = openLink('trips_keys')
      using ledger = openLedger(link.place, { nowMs: NOW_MS })
      createKeyOne(ledger)
      const rotate = (round: number) =>
        ledger.rotateKey(
          {
            id: keyIdOf(1 + round),
            accountId: accountIdOf(1),
            callerKeyId: keyIdOf(1 + round),
            key: aKey(2 + round),
            keysMax: 10,
            overlapMs: 1000,
          },
          by(NOW_MS + round),
        )
      expect({
        rotation: await count(link, rotate),
        signup: await count(link, (round) => ledger.signUp(aSignup(100 + round), NOW_MS)),
        usage: await count(link, () =>
          ledger.addUsage([1, 2, 3].map((number) => someUsage(number))),
        ),
        revocation: await count(link, (round) => ledger.revokeKey(keyIdOf(100 + round), by())),
      }).toEqual({ rotation: 4, signup: 6, usage: 1, revocation: 4 })
    },
    MS_MAX,
  )

  test(
    'behavior: a purchase takes few',
    async () => {
      using link = openLink('trips_billing')
      const { billing, ledger, me, quote, script } = await openBilling({ ledgerPlace: link.place })
      let offer: Offer | undefined
      const trips = {
        screening: await count(link, () =>
          ledger.recordScreening(
            { address: '0x1', chain: { oracle: 'clear', issuers: 'clear' }, staleAfterMs: 1 },
            by(),
          ),
        ),
        // Another one is open, and may be shown again.
        quote: await count(link, () => quote('USDC', 'pro', true)),
        settlement: await count(
          link,
          async (round) => {
            script.verdict = paid(true, round)
            if (offer === undefined) throw new Error('There is no offer.')
            const { payment } = await billing.settle(me, payWithUsdc(offer, {}, round + 1))
            expect(payment.state).toBe('provisioned')
          },
          async () => {
            offer = await quote('USDC', 'pro', true)
          },
        ),
      }
      ledger.dispose()
      expect(trips).toEqual({ screening: 2, quote: 6, settlement: 24 })
    },
    MS_MAX,
  )

  test(
    'behavior: books and trades of many markets take no more than those of one, in any second',
    () => {
      const place = placeOf('trips_books')
      let nowMs = START_MS
      // Each of its changes begins a second, in which it notes how far ids have come.
      const noting = openHistory(place, { clock: () => (nowMs += 1000) })
      const trips = [openHistory(place), noting].map((history) => {
        const found = [1, 20].map((markets) => {
          const append = () => history.append({ ...aBatch(markets), gapReason: 'recorder_down' })
          append()
          return { append: waitsOf(append), record: waitsOf(() => history.record(heard(markets))) }
        })
        history.dispose()
        return found
      })
      const few = { append: 3, record: 4 }
      expect(trips).toEqual([
        [few, few],
        [few, few],
      ])
    },
    MS_MAX,
  )

  test(
    'behavior: what another recorder wrote takes one more, however many markets it is of',
    () => {
      const place = placeOf('trips_recorders')
      const first = openHistory(place)
      const second = openHistory(place)
      const trips = [1, 20].map((markets) => {
        first.append(aBatch(markets))
        const same = heard(markets)
        const earlier = same.snapshots.map((snapshot) => ({
          ...snapshot,
          receivedMs: snapshot.timestampMs,
        }))
        first.record(same)
        return {
          held: waitsOf(() => second.record(same)),
          receivedEarlier: waitsOf(() => second.record({ ...same, snapshots: earlier })),
          next: waitsOf(() => first.record(heard(markets))),
          append: waitsOf(() => second.append({ ...aBatch(markets), gapReason: 'recorder_down' })),
        }
      })
      expect([...first.verify()]).toEqual([])
      first.dispose()
      second.dispose()
      const few = { held: 4, receivedEarlier: 5, next: 5, append: 4 }
      expect(trips).toEqual([few, few])
    },
    MS_MAX,
  )
})

/** How often a change of a history waits for an answer, which is a round trip once its statements are prepared. */
function waitsOf(act: () => unknown): number {
  const count = () =>
    Object.values(answerTimes.history)
      .flatMap((times) => times.read().counts)
      .reduce((sum, each) => sum + each, 0)
  const before = count()
  act()
  return count() - before
}

let written = 0

/** One book of each market, later than all before. */
const booksOf = (markets: number) =>
  numbersTo(markets).map((number) =>
    aSnapshot({
      conditionId: conditionIdOf(number),
      assetId: String(number),
      timestampMs: START_MS + ++written,
      receivedMs: START_MS + written + 5,
    }),
  )

const aBatch = (markets: number) => {
  const snapshots = booksOf(markets)
  return { id: `books-${written}`, source: 'recorded' as const, snapshots }
}

/** A book and a trade of each market. */
const heard = (markets: number) => ({
  snapshots: booksOf(markets),
  trades: numbersTo(markets).map((number) => ({
    conditionId: conditionIdOf(number),
    trade: {
      timestampMs: START_MS + ++written,
      price: 500_000,
      outcome: 'up' as const,
      size: 1_000_000,
      side: 'buy' as const,
      transactionHash: `0x${written}`,
    },
  })),
  gaps: [],
})

const numbersTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
