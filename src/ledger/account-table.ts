/** Rows of the account table. */
import { account } from '#db/ledger/schema.ts'
import { assert } from '#src/lib/assert.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { Account } from './ledger.ts'
import { createRows } from './rows.ts'

/** Each part is an index search. A grant is a subscription, and a made key is in the chain. */
const IS_FREE = `address IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM subscription WHERE account_id = account.id)
  AND NOT EXISTS (
    SELECT 1 FROM audit WHERE actor = 'operator' AND action IN ('account.created', 'key.created')
      AND subject IN (SELECT account.id UNION ALL SELECT id FROM api_key WHERE account_id = account.id))`

/** What may still be paid for needs its account; what was proven unpaid does not. */
const IS_IDLE = `blocked_ms IS NULL AND created_ms < $sinceMs
  AND NOT EXISTS (
    SELECT 1 FROM api_key WHERE account_id = account.id
      AND (created_ms >= $sinceMs OR last_used_ms >= $sinceMs))
  AND NOT EXISTS (
    SELECT 1 FROM payment WHERE account_id = account.id AND state NOT IN ('rejected', 'void'))
  AND NOT EXISTS (
    SELECT 1 FROM offer WHERE account_id = account.id
      AND (created_ms >= $sinceMs OR reserved_until_ms >= $sinceMs))`

/** Finds, lists and writes accounts. */
export function createAccountTable(db: Database) {
  const rows = createRows(db, account, { what: 'account', parse: (row): Account => row })
  const byAddress = rows.one<{ address: string }>('WHERE address = $address')
  const addressed = rows.list('WHERE address IS NOT NULL ORDER BY created_ms, id')
  const free = rows.one<{ id: string }>(`WHERE id = $id AND ${IS_FREE}`)
  const idle = rows.one<{ id: string; sinceMs: number }>(
    `WHERE id = $id AND ${IS_FREE} AND ${IS_IDLE}`,
  )
  const after = rows.list<{ afterId: string; limit: number }>(
    'WHERE id > $afterId ORDER BY id LIMIT $limit',
  )
  const remove = db.prepare<unknown, [{ id: string }]>('DELETE FROM account WHERE id = $id')
  const findByAddress = (address: string): Account | undefined => byAddress({ address })

  return {
    find: rows.find,
    get: rows.get,
    findByAddress,
    listAddressed: (): Account[] => addressed({}),
    isFree: (id: string): boolean => free({ id }) !== undefined,
    isIdle: (id: string, sinceMs: number): boolean => idle({ id, sinceMs }) !== undefined,
    idsAfter: (afterId: string, limit: number): string[] =>
      after({ afterId, limit }).map(({ id }) => id),
    remove: (id: string): void => void remove.run({ id }),
    setBlockedMs: rows.update('blockedMs'),

    /** Throws if the address has an account. */
    insert(draft: Omit<Account, 'blockedMs'>): void {
      const { address } = draft
      if (address !== undefined) {
        // Another spelling would be another account, and on no sanctions list.
        assert(address === address.toLowerCase(), 'an address is in lower case')
        const other = findByAddress(address)
        if (other !== undefined) throw new Error(`${address} has account ${other.id} already.`)
      }
      rows.insert(draft)
    },
  }
}
