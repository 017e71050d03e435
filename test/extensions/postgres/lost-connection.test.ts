/** A connection that ends within a transaction: all of it is kept, or nothing, and that is told. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { transact } from '#src/database/database.ts'
import { openPostgres } from '#src/extensions/postgres/database.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { openHistory } from '#src/history/open.ts'
import type { AuditContext } from '#src/ledger/actor.ts'
import { openLedger } from '#src/ledger/open.ts'

import { conditionIdOf, someSnapshots } from '../../history/books.ts'
import { aKey, by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { claimUpTo, idsOf } from '../../ledger/payment-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'

const MS_MAX = 120_000
const ROUNDS = 12
const ROWS = 6

describe.skipIf(postgresPrograms === undefined)('a lock that another transaction holds', () => {
  const { placeOf } = usePostgres()

  test(
    'error: is named as what it is, and no standby is blamed for it',
    () => {
      const db = openPostgres(placeOf('locked'), postgresHistory)
      const other = openPostgres(placeOf('locked'), postgresHistory)
      db.waitBriefly()
      const write = () => transact(db, () => void db.run('UPDATE format SET version = version'))
      transact(other, () => {
        other.run('LOCK TABLE format IN ACCESS EXCLUSIVE MODE')
        expect(write).toThrow(
          'The database did not do it: Another transaction holds a lock that this one needs. Try again in a moment.',
        )
      })
      write()
      for (const each of [db, other]) each.close()
    },
    MS_MAX,
  )
})

describe.skipIf(postgresPrograms === undefined)('a connection that an administrator ends', () => {
  const { placeOf } = usePostgres()
  /** On a connection of its own; it stands still until the others have ended. */
  let operator: ReturnType<typeof openPostgres>
  let schemas = 0
  beforeAll(() => {
    operator = openPostgres(newPlace(), postgresLedger)
  })
  afterAll(() => operator?.close())
  const newPlace = (): string => placeOf(`lost_${++schemas}`)

  function endOthers(): void {
    const end = operator.prepare<{ ended: number }, []>(
      `SELECT count(pg_terminate_backend(pid, 5000)) AS ended FROM pg_stat_activity
       WHERE application_name = 'bookfeed' AND pid <> pg_backend_pid()`,
    )
    expect(end.get()?.ended).toBeGreaterThan(0)
  }

  /** A value that ends the connections when it is read the nth time; reads go on between writes. */
  function endingAt(read: number) {
    let reads = 0
    return <V>(value: V): V => {
      if (++reads === read) endOthers()
      return value
    }
  }
  const deedEndingAt = (read: number): AuditContext => {
    const end = endingAt(read)
    return {
      actor: 'operator',
      get nowMs() {
        return end(NOW_MS)
      },
    }
  }

  test(
    'error: a transaction fails whole, and what goes on in it as well',
    () => {
      using ledger = openLedger(newPlace(), { nowMs: 0 })
      createKeyOne(ledger)
      for (let round = 0; round < ROUNDS; round++) {
        const before = ledger.listAudit(0, 1000)
        const change = () =>
          ledger.atomically(() => {
            ledger.createKey(aKey(2), by())
            endOthers()
            // Whoever takes the fault for something else and goes on writes nothing.
            expect(() => ledger.createKey(aKey(3), by())).toThrow('Try again')
            expect(() => ledger.createKey(aKey(4), by())).toThrow('Try again')
          })
        expect(change).toThrow('Try again')
        expect(ledger.listAudit(0, 1000)).toEqual(before)
        expect(ledger.listKeys()).toHaveLength(1)
      }
      expect([...ledger.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )

  test(
    'error: a commit that nothing was begun for is not acknowledged',
    () => {
      const db = openPostgres(newPlace(), postgresLedger)
      const insert = db.prepare<unknown, [string]>("INSERT INTO meta VALUES ($1, '\\x00')")
      const count = db.prepare<{ count: number }, []>('SELECT count(*) AS count FROM meta')
      for (let round = 0; round < ROUNDS; round++) {
        const change = () =>
          transact(db, () => {
            expect(insert.run(`key ${round}`).changes).toBe(1)
            endOthers()
          })
        expect(change).toThrow('Try again')
        expect(count.get()?.count).toBe(0)
      }
      db.close()
    },
    MS_MAX,
  )

  test.each([postgresLedger, postgresHistory])(
    'error: nor is one of which a statement has failed, though nobody took notice ($name)',
    (format) => {
      const db = openPostgres(newPlace(), format)
      const insert = db.prepare<unknown, [string]>("INSERT INTO meta VALUES ($1, '\\x00')")
      const change = () =>
        transact(db, () => {
          insert.run('one')
          insert.run('two')
          expect(() => insert.run('two').changes).toThrow('duplicate')
        })
      expect(change).toThrow('nothing of it is kept')
      expect(db.prepare("SELECT * FROM meta WHERE key IN ('one', 'two')").all()).toEqual([])
      db.close()
    },
    MS_MAX,
  )

  test(
    'error: nor is one whose last write fails, though its commit is sent with it',
    () => {
      const db = openPostgres(newPlace(), postgresLedger)
      const insert = db.prepare<unknown, [string]>("INSERT INTO meta VALUES ($1, '\\x00')")
      const change = () =>
        transact(db, () => {
          insert.run('one')
          insert.run('one')
        })
      expect(change).toThrow('duplicate')
      expect(db.inTransaction).toBe(false)
      expect(db.prepare('SELECT * FROM meta').all()).toEqual([])
      transact(db, () => void insert.run('two'))
      expect(db.prepare('SELECT key FROM meta').all()).toEqual([{ key: 'two' }])
      db.close()
    },
    MS_MAX,
  )

  test(
    'error: a provision or a change of a key is done whole, or fails and is not done',
    () => {
      using ledger = openLedger(newPlace(), { nowMs: 0 })
      let failed = 0
      for (let round = 1; round <= ROUNDS; round++) {
        const { id } = claimUpTo(ledger, round, { state: 'settled' })
        const before = ledger.listAudit(0, 10_000)
        const isDone = whether(() =>
          ledger.payments.provision(id, idsOf(round), deedEndingAt(round)),
        )
        if (!isDone) failed++
        expect(ledger.payments.findPayment(id)?.state).toBe(isDone ? 'provisioned' : 'settled')
        expect(ledger.payments.findSubscriptionOf(id) !== undefined).toBe(isDone)
        if (!isDone) expect(ledger.listAudit(0, 10_000)).toEqual(before)

        ledger.createKey(aKey(round + 1), by())
        const isRevoked = whether(() => ledger.revokeKey(aKey(round + 1).id, deedEndingAt(round)))
        expect(ledger.findKey(aKey(round + 1).id)?.revokedMs !== undefined).toBe(isRevoked)
      }
      expect(failed).toBeGreaterThan(0)
      expect([...ledger.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )

  test(
    'error: an append is there whole, or fails and is not there',
    () => {
      const history = openHistory(newPlace())
      let failed = 0
      for (let round = 1; round <= ROUNDS * 2; round++) {
        const end = endingAt(round)
        const conditionId = conditionIdOf(round)
        const snapshots = someSnapshots(ROWS, { conditionId })
        for (const each of snapshots) {
          const { bids } = each
          Object.defineProperty(each, 'bids', { get: () => end(bids) })
        }
        const isDone = whether(() =>
          history.append({ id: `${round}`, source: 'recorded', snapshots }),
        )
        if (!isDone) failed++
        expect(history.findBatch(`${round}`)?.accepted).toBe(isDone ? ROWS : undefined)
        const { up = 0, down = 0 } = history.findMarket(conditionId)?.snapshotCounts ?? {}
        expect(up + down).toBe(isDone ? ROWS : 0)
      }
      expect(failed).toBeGreaterThan(0)
      expect([...history.verify()]).toEqual([])
      history.dispose()
    },
    MS_MAX,
  )
})

function whether(change: () => unknown): boolean {
  try {
    change()
    return true
  } catch (error) {
    expect(String(error)).toContain('Try again')
    return false
  }
}
