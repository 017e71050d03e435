/** Rows of the api_key table. */
import { timingSafeEqual } from 'node:crypto'

import type { Database } from '#src/sqlite/database.ts'

import type { ApiKey, KeyDraft } from './ledger.ts'

type KeyRow = {
  id: string
  account_id: string
  digest: Uint8Array
  hint: string
  label: string | null
  family_id: string
  created_ms: number
  expires_ms: number | null
  revoked_ms: number | null
  last_used_ms: number | null
}

/** Finds, lists and writes keys. */
export function createKeyTable(db: Database) {
  const byId = db.prepare<KeyRow, [string]>('SELECT * FROM api_key WHERE id = ?')
  const byDigest = db.prepare<KeyRow, [Uint8Array]>('SELECT * FROM api_key WHERE digest = ?')
  const all = db.prepare<KeyRow, []>('SELECT * FROM api_key ORDER BY created_ms, rowid')
  const ofAccount = db.prepare<KeyRow, [string]>(
    'SELECT * FROM api_key WHERE account_id = ? ORDER BY created_ms, rowid',
  )
  const countValid = db.prepare<{ count: number }, [string, number]>(
    `SELECT count(*) AS count FROM api_key
     WHERE account_id = ? AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)`,
  )
  // The chain remembers keys that were forgotten. It is only read when no key is left.
  const isEmpty = db.prepare<{ is_empty: number }, []>(
    `SELECT NOT EXISTS (SELECT 1 FROM api_key)
      AND NOT EXISTS (SELECT 1 FROM audit WHERE action = 'key.created') AS is_empty`,
  )
  const find = (id: string): ApiKey | undefined => toKey(byId.get(id))

  return {
    ...createKeyWriters(db),
    find,

    /** Throws if there is no such key. */
    get(id: string): ApiKey {
      const key = find(id)
      if (key === undefined) throw new Error(`There is no key ${id}.`)
      return key
    },

    /**
     * The index tells by its timing at most how much of a hash agrees, and nobody chooses that; whether all
     * of it does is decided in constant time.
     */
    findByDigest(digest: Uint8Array): ApiKey | undefined {
      const row = byDigest.get(digest)
      return row !== null && timingSafeEqual(row.digest, digest) ? toKey(row) : undefined
    },

    list: (accountId?: string): ApiKey[] =>
      (accountId === undefined ? all.all() : ofAccount.all(accountId)).flatMap(
        (row) => toKey(row) ?? [],
      ),

    countValid: (accountId: string, nowMs: number): number =>
      countValid.get(accountId, nowMs)?.count ?? 0,

    isEmpty: (): boolean => isEmpty.get()?.is_empty === 1,
  }
}

export type KeyTable = ReturnType<typeof createKeyTable>

function createKeyWriters(db: Database) {
  const insert = db.prepare(
    `INSERT INTO api_key (id, account_id, digest, hint, label, family_id, created_ms, expires_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const expire = db.prepare(
    `UPDATE api_key SET expires_ms = ?1
     WHERE id = ?2 AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?1)`,
  )
  const revoke = db.prepare('UPDATE api_key SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL')
  const remove = db.prepare('DELETE FROM api_key WHERE id = ?')
  const removeUsage = db.prepare('DELETE FROM usage WHERE key_id = ?')
  return {
    /** With what it was used for. */
    remove(id: string): void {
      removeUsage.run(id)
      remove.run(id)
    },

    insert(key: KeyDraft, createdMs: number): void {
      insert.run(
        ...[key.id, key.accountId, key.digest, key.hint, key.label ?? null, key.familyId],
        ...[createdMs, key.expiresMs ?? null],
      )
    },

    /** False if the key ends as soon or sooner already. */
    expire: (id: string, expiresMs: number): boolean => expire.run(expiresMs, id).changes > 0,

    /** False if the key was revoked already. */
    revoke: (id: string, revokedMs: number): boolean => revoke.run(revokedMs, id).changes > 0,
  }
}

function toKey(row: KeyRow | null): ApiKey | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    accountId: row.account_id,
    hint: row.hint,
    label: row.label ?? undefined,
    familyId: row.family_id,
    createdMs: row.created_ms,
    expiresMs: row.expires_ms ?? undefined,
    revokedMs: row.revoked_ms ?? undefined,
    lastUsedMs: row.last_used_ms ?? undefined,
  }
}
