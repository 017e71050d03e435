/** Rows of the account table. */
import { assert } from '#src/lib/assert.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { Account } from './ledger.ts'

type AccountRow = {
  id: string
  address: string | null
  label: string | null
  created_ms: number
  blocked_ms: number | null
}

/** Every part is a search in an index. A grant is a subscription, and a made key is in the chain. */
const IS_FREE = `address IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM subscription WHERE account_id = account.id)
  AND NOT EXISTS (
    SELECT 1 FROM audit WHERE actor = 'operator' AND action IN ('account.created', 'key.created')
      AND subject IN (SELECT account.id UNION ALL SELECT id FROM api_key WHERE account_id = account.id))`

/** What may still be paid for needs its account; what was proven unpaid does not. */
const IS_IDLE = `blocked_ms IS NULL AND created_ms < ?2
  AND NOT EXISTS (
    SELECT 1 FROM api_key WHERE account_id = account.id
      AND max(created_ms, ifnull(last_used_ms, 0)) >= ?2)
  AND NOT EXISTS (
    SELECT 1 FROM payment WHERE account_id = account.id AND state NOT IN ('rejected', 'void'))
  AND NOT EXISTS (
    SELECT 1 FROM offer WHERE account_id = account.id AND max(created_ms, reserved_until_ms) >= ?2)`

/** Finds, lists and writes accounts. */
export function createAccountTable(db: Database) {
  const byId = db.prepare<AccountRow, [string]>('SELECT * FROM account WHERE id = ?')
  const byAddress = db.prepare<AccountRow, [string]>('SELECT * FROM account WHERE address = ?')
  const addressed = db.prepare<AccountRow, []>(
    'SELECT * FROM account WHERE address IS NOT NULL ORDER BY created_ms, id',
  )
  const insert = db.prepare(
    'INSERT INTO account (id, address, label, created_ms) VALUES (?, ?, ?, ?)',
  )
  const free = db.prepare(`SELECT 1 FROM account WHERE id = ? AND ${IS_FREE}`)
  const idle = db.prepare(`SELECT 1 FROM account WHERE id = ?1 AND ${IS_FREE} AND ${IS_IDLE}`)
  const idsAfter = db.prepare<{ id: string }, [string, number]>(
    'SELECT id FROM account WHERE id > ? ORDER BY id LIMIT ?',
  )
  const remove = db.prepare('DELETE FROM account WHERE id = ?')
  const setBlockedMs = db.prepare('UPDATE account SET blocked_ms = ? WHERE id = ?')

  const find = (id: string): Account | undefined => toAccount(byId.get(id))
  const findByAddress = (address: string): Account | undefined => toAccount(byAddress.get(address))

  return {
    find,
    findByAddress,
    listAddressed: (): Account[] => addressed.all().flatMap((row) => toAccount(row) ?? []),

    /** Throws if there is no such account. */
    get(id: string): Account {
      const account = find(id)
      if (account === undefined) throw new Error(`There is no account ${id}.`)
      return account
    },

    isFree: (id: string): boolean => free.get(id) !== null,
    isIdle: (id: string, sinceMs: number): boolean => idle.get(id, sinceMs) !== null,
    idsAfter: (afterId: string, limit: number): string[] =>
      idsAfter.all(afterId, limit).map(({ id }) => id),
    remove: (id: string): void => void remove.run(id),

    /** Throws if the address has an account. */
    insert({ id, address, label, createdMs }: Omit<Account, 'blockedMs'>): void {
      if (address !== undefined) {
        // Another spelling would be another account, and on no sanctions list.
        assert(address === address.toLowerCase(), 'an address is in lower case')
        const other = findByAddress(address)
        if (other !== undefined) throw new Error(`${address} has account ${other.id} already.`)
      }
      insert.run(id, address ?? null, label ?? null, createdMs)
    },

    setBlockedMs(id: string, blockedMs: number | undefined): void {
      setBlockedMs.run(blockedMs ?? null, id)
    },
  }
}

export type AccountTable = ReturnType<typeof createAccountTable>

function toAccount(row: AccountRow | null): Account | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    address: row.address ?? undefined,
    label: row.label ?? undefined,
    createdMs: row.created_ms,
    blockedMs: row.blocked_ms ?? undefined,
  }
}
