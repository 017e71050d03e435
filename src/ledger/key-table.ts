/** Rows of the api_key table. */
import { timingSafeEqual } from 'node:crypto'

import { apiKey } from '#db/ledger/schema.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { ApiKey } from './ledger.ts'
import { createRows } from './rows.ts'

const IN_ORDER = 'ORDER BY created_ms, seq'
const IS_VALID = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms >'

/** Finds, lists and writes keys. */
export function createKeyTable(db: Database) {
  const rows = createRows(db, apiKey, {
    what: 'key',
    parse: ({ digest, seq, ...key }): ApiKey => key,
  })
  const digestLike = db.prepare<{ id: string; digest: Uint8Array }, [{ digest: Uint8Array }]>(
    'SELECT id, digest FROM api_key WHERE digest = $digest',
  )
  const all = rows.list(IN_ORDER)
  const ofAccount = rows.list<{ accountId: string }>(`WHERE account_id = $accountId ${IN_ORDER}`)
  const countValid = db.prepare<{ count: number }, [{ accountId: string; nowMs: number }]>(
    `SELECT count(*) AS count FROM api_key WHERE account_id = $accountId AND ${IS_VALID} $nowMs)`,
  )
  // The chain remembers keys that were forgotten. It is only read when no key is left.
  const anyKey = db.prepare<unknown, []>(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM api_key)
      OR EXISTS (SELECT 1 FROM audit WHERE action = 'key.created')`,
  )
  const expire = db.prepare<unknown, [{ id: string; expiresMs: number }]>(
    `UPDATE api_key SET expires_ms = $expiresMs WHERE id = $id AND ${IS_VALID} $expiresMs)`,
  )
  const revoke = db.prepare<unknown, [{ id: string; revokedMs: number }]>(
    'UPDATE api_key SET revoked_ms = $revokedMs WHERE id = $id AND revoked_ms IS NULL',
  )
  const remove = db.prepare<unknown, [{ id: string }]>('DELETE FROM api_key WHERE id = $id')
  const removeUsage = db.prepare<unknown, [{ id: string }]>('DELETE FROM usage WHERE key_id = $id')

  return {
    find: rows.find,
    get: rows.get,
    insert: rows.insert,

    /**
     * The index shows by its timing at most how much of a hash agrees, and nobody chooses that;
     * whether all of it does is decided in constant time.
     */
    findByDigest(digest: Uint8Array): ApiKey | undefined {
      const row = digestLike.get({ digest })
      return row !== null && timingSafeEqual(row.digest, digest) ? rows.find(row.id) : undefined
    },

    list: (accountId?: string): ApiKey[] =>
      accountId === undefined ? all({}) : ofAccount({ accountId }),

    countValid: (accountId: string, nowMs: number): number =>
      countValid.get({ accountId, nowMs })?.count ?? 0,

    isEmpty: (): boolean => anyKey.get() === null,

    /** False if the key ends as soon or sooner already. */
    expire: (id: string, expiresMs: number): boolean => expire.run({ id, expiresMs }).changes > 0,

    /** False if the key was revoked already. */
    revoke: (id: string, revokedMs: number): boolean => revoke.run({ id, revokedMs }).changes > 0,

    /** With what it was used for. */
    remove(id: string): void {
      removeUsage.run({ id })
      remove.run({ id })
    },
  }
}
