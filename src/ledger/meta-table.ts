/** Facts about the ledger itself: the key that signs challenges, and its last time. */
import { randomBytes } from 'node:crypto'

import { type Database, transact, withoutWaiting } from '#src/sqlite/database.ts'

const CHALLENGE_KEY_BYTES = 32

/** Opens the facts of a ledger, whose challenge key the first opening makes. */
export function createMetaTable(db: Database) {
  const find = db.prepare<{ value: unknown }, [{ key: string }]>(
    'SELECT value FROM meta WHERE key = $key',
  )
  const put = db.prepare<unknown, [{ key: string; value: number }]>(
    `INSERT INTO meta (key, value) VALUES ($key, $value)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  // Another process may be making one: whichever is first stays.
  const add = db.prepare<unknown, [{ key: string; value: Uint8Array }]>(
    'INSERT INTO meta (key, value) VALUES ($key, $value) ON CONFLICT (key) DO NOTHING',
  )

  function readChallengeKey(): Uint8Array {
    const key = 'challenge_key'
    const known = find.get({ key })
    if (known === null) add.run({ key, value: randomBytes(CHALLENGE_KEY_BYTES) })
    const value = (known ?? find.get({ key }))?.value
    if (value instanceof Uint8Array) return value
    throw new Error('The challenge key of the ledger is not bytes.')
  }

  return {
    challengeKey: readChallengeKey(),

    timeFloor(): number | undefined {
      const value = find.get({ key: 'time_floor' })?.value
      return typeof value === 'number' ? value : undefined
    },

    putTimeFloor: (nowMs: number): void =>
      withoutWaiting(db, () =>
        transact(db, () => void put.run({ key: 'time_floor', value: nowMs })),
      ),
  }
}
