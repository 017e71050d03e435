/** A connection that ends within a verb: all of it is kept, or nothing, and that is told. */
import { describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import { formats } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'
import { openSurround } from '#src/extensions/postgres/surround.ts'

import { conditionIdOf, someSnapshots } from '../../history/books.ts'
import { aKey, by } from '../../ledger/ledger-records.ts'
import { claimUpTo, idsOf, paymentIdOf } from '../../ledger/payment-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openHistoryIn, openLedgerIn, toPlace } from '../../support/stores.ts'

const MS_MAX = 300_000
const ROUNDS = 24
const ROWS = 6
const WAITS_MS_MAX = 12

describe.skipIf(postgresPrograms === undefined)('a lock that another transaction holds', () => {
  const { server, placeOf } = usePostgres()

  test(
    'error: is named as what it is, and no standby is blamed for it',
    async () => {
      const place = placeOf('locked')
      await prepareTables(place, formats.history)
      const { path } = toPlace('history', place)
      const store = await openSurround({ place, store: 'history', path, isBrief: true })
      const write = () =>
        store.transact(() => store.writing.run("INSERT INTO meta VALUES ('a', 1)"))
      await using other = new SQL(server().url, { max: 1 })
      await other.begin(async (held) => {
        await held.unsafe('LOCK TABLE locked.format IN ACCESS EXCLUSIVE MODE')
        await expect(write()).rejects.toThrow(
          'The database failed: Another transaction holds a lock that this one needs. Try again in a moment.',
        )
      })
      await write()
      store.close()
    },
    MS_MAX,
  )
})

describe.skipIf(postgresPrograms === undefined)('a connection that an administrator ends', () => {
  const { server, placeOf } = usePostgres()

  /** Whether a change was done while its connection is ended at any moment of it. */
  async function whether(round: number, change: () => Promise<unknown>): Promise<boolean> {
    await using operator = new SQL(server().url, { max: 1 })
    await operator.unsafe('SELECT 1')
    const changing = change().then(
      () => true,
      (error) => {
        expect(String(error)).toContain('Try again')
        return false
      },
    )
    await Bun.sleep(round % WAITS_MS_MAX)
    await operator.unsafe(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE application_name = 'bookfeed' AND pid <> pg_backend_pid()`,
    )
    return changing
  }

  test(
    'error: a provision or a change of a key is done whole, or fails and is not done',
    async () => {
      using ledger = await openLedgerIn(placeOf('lost_keys'), { nowMs: 0 })
      let failed = 0
      const untilDone = async (change: () => Promise<unknown>): Promise<unknown> => {
        // A connection that was ended while nothing was asked is found by the next verb.
        for (let tries = 0; ; tries++) {
          try {
            return await change()
          } catch (error) {
            if (tries === 3) throw error
          }
        }
      }
      for (let round = 1; round <= ROUNDS; round++) {
        await untilDone(() => claimUpTo(ledger, round, { state: 'settled' }))
        const id = paymentIdOf(round)
        const before = ledger.listAudit(0, 10_000)
        const isDone = await whether(round, () => ledger.payments.provision(id, idsOf(round), by()))
        if (!isDone) failed++
        // What is read here is what the database has, once a verb has asked it.
        await untilDone(() => ledger.createKey(aKey(1000 + round), by()))
        const isThere = ledger.payments.findPayment(id)?.state === 'provisioned'
        expect(ledger.payments.findSubscriptionOf(id) !== undefined).toBe(isThere)
        if (isDone) expect(isThere).toBe(true)
        if (!isThere) expect(ledger.listAudit(0, 10_000).slice(0, -1)).toEqual(before)
        if (!isThere) await untilDone(() => ledger.payments.provision(id, idsOf(round), by()))

        const { id: keyId } = aKey(1000 + round)
        const isRevoked = await whether(round + 1, () => ledger.revokeKey(keyId, by()))
        if (!isRevoked) failed++
        await untilDone(() => ledger.probeWrite())
        const isOver = ledger.findKey(keyId)?.revokedMs !== undefined
        if (isRevoked) expect(isOver).toBe(true)
        // Told to have failed, it is done at the next try, once.
        expect(await untilDone(() => ledger.revokeKey(keyId, by()))).toBe(!isOver)
        expect(ledger.findKey(keyId)?.revokedMs).toBeNumber()
      }
      expect(failed).toBeGreaterThan(0)
      expect([...ledger.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )

  test(
    'error: an append is there whole, or fails and is not there',
    async () => {
      const history = await openHistoryIn(placeOf('lost_books'))
      let failed = 0
      for (let round = 1; round <= ROUNDS; round++) {
        const conditionId = conditionIdOf(round)
        const snapshots = someSnapshots(ROWS, { conditionId })
        const append = () => history.append({ id: `${round}`, source: 'recorded', snapshots })
        const isDone = await whether(round, append)
        if (!isDone) failed++
        // Again: it is applied once.
        for (let tries = 0; ; tries++) {
          try {
            const { kind } = await append()
            if (isDone) expect(kind).toBe('already_applied')
            break
          } catch (error) {
            if (tries === 3) throw error
          }
        }
        expect(history.findBatch(`${round}`)?.accepted).toBe(ROWS)
        const { up = 0, down = 0 } = history.findMarket(conditionId)?.snapshotCounts ?? {}
        expect(up + down).toBe(ROWS)
      }
      expect(failed).toBeGreaterThan(0)
      expect([...history.verify()]).toEqual([])
      history.dispose()
    },
    MS_MAX,
  )
})
