/**
 * Rows of accounts and keys, of what keys have answered, and of what accounts have bought, with the
 * tiers that are offered.
 */
import { timingSafeEqual } from 'node:crypto'

import {
  account,
  apiKey,
  idempotency,
  subscription,
  tier as tiers,
  usedNonce,
} from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { coins } from '#src/domain/market.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import { type Terms, termsOf, type Tier, tierRoutes } from '#src/domain/selling/tier.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { assert } from '#src/platform/assert.ts'

import type { Account, ApiKey, Ledger, StoredAnswer } from './ledger.ts'
import { change, createRows, exists } from './rows.ts'
import { sealNames, type Seals } from './seals.ts'

/** Each part is an index search. A grant is a subscription, and a made key is in the chain. */
const IS_FREE = `address IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM subscription WHERE account_id = account.id)
  AND NOT EXISTS (SELECT 1 FROM credit WHERE account_id = account.id)
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

/** Both engines know it. An empty text is found nowhere. */
const has = (text: string): string => `replace(${text}, lower($search), '') <> ${text}`
const MATCHES = `CAST($search AS TEXT) IS NULL OR ${has('id')} OR ${has('address')} OR ${has('lower(label)')}
  OR EXISTS (
    SELECT 1 FROM api_key WHERE account_id = account.id AND (
      hint = $search OR ${has('api_key.id')} OR ${has('lower(api_key.label)')}))`

export function createAccountTable(db: Database) {
  const rows = createRows(db, account, { what: 'account', parse: (row): Account => row })
  const findByAddress = rows.one<[address: string]>('WHERE address = $1')
  const page = rows.list<[Record<'search' | 'id', string | null> & Record<'ms' | 'limit', number>]>(
    `WHERE (${MATCHES}) AND (created_ms, id) < ($ms, $id)
      ORDER BY created_ms DESC, id DESC LIMIT $limit`,
  )
  const count = db.prepare<{ count: number }, [sinceMs: number]>(
    'SELECT count(*) AS count FROM account WHERE created_ms >= $1',
  )
  return {
    find: rows.find,
    get: rows.get,
    findByAddress,
    listAddressed: rows.list<[]>('WHERE address IS NOT NULL ORDER BY created_ms, id'),
    listAfter: rows.list<[id: string, limit: number]>('WHERE id > $1 ORDER BY id LIMIT $2'),
    isFree: exists<[id: string]>(db, `SELECT 1 FROM account WHERE id = $1 AND ${IS_FREE}`),
    isIdle: exists<[{ id: string; sinceMs: number }]>(
      db,
      `SELECT 1 FROM account WHERE id = $id AND ${IS_FREE} AND ${IS_IDLE}`,
    ),
    remove: change<[id: string]>(db, 'DELETE FROM account WHERE id = $1'),
    setBlockedMs: rows.update('blockedMs'),

    listPage: ({ search, after, limit }: Parameters<Ledger['listAccounts']>[0]): Account[] =>
      page({
        search: search ?? null,
        limit,
        ms: after?.createdMs ?? Number.MAX_SAFE_INTEGER,
        id: after?.id ?? '',
      }),
    countSince: (sinceMs: number): number => count.get(sinceMs)?.count ?? 0,

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

const BY_CREATION = 'ORDER BY created_ms, seq'
const IS_VALID = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms >'

export function createKeyTable(db: Database) {
  const rows = createRows(db, apiKey, {
    what: 'key',
    parse: ({ digest, seq, ...key }): ApiKey => key,
  })
  const digestLike = db.prepare<{ id: string; digest: Uint8Array }, [Uint8Array]>(
    'SELECT id, digest FROM api_key WHERE digest = $1',
  )
  const all = rows.list<[]>(BY_CREATION)
  const ofAccount = rows.list<[accountId: string]>(`WHERE account_id = $1 ${BY_CREATION}`)
  const count = db.prepare<{ count: number }, [accountId: string, nowMs: number]>(
    `SELECT count(*) AS count FROM api_key WHERE account_id = $1 AND ${IS_VALID} $2)`,
  )
  const removeUsage = change<[id: string]>(db, 'DELETE FROM usage WHERE key_id = $1')
  const remove = change<[id: string]>(db, 'DELETE FROM api_key WHERE id = $1')

  return {
    find: rows.find,
    get: rows.get,
    insert: rows.insert,

    /** The index may show by timing how far a digest agrees; the last check is constant in time. */
    findByDigest(digest: Uint8Array): ApiKey | undefined {
      const row = digestLike.get(digest)
      return row !== null && timingSafeEqual(row.digest, digest) ? rows.find(row.id) : undefined
    },

    list: (accountId?: string): ApiKey[] =>
      accountId === undefined ? all() : ofAccount(accountId),
    countValid: (accountId: string, nowMs: number): number =>
      count.get(accountId, nowMs)?.count ?? 0,

    /** The chain remembers keys that were forgotten. It is only read when no key is left. */
    isAny: exists<[]>(
      db,
      `SELECT 1 WHERE EXISTS (SELECT 1 FROM api_key)
        OR EXISTS (SELECT 1 FROM audit WHERE action = 'key.created')`,
    ),

    /** False if it is its label already. */
    label: change<[{ id: string; label: string }]>(
      db,
      'UPDATE api_key SET label = $label WHERE id = $id AND label IS DISTINCT FROM $label',
    ),
    /** False if the key ends as soon or sooner already. */
    expire: change<[{ id: string; expiresMs: number }]>(
      db,
      `UPDATE api_key SET expires_ms = $expiresMs WHERE id = $id AND ${IS_VALID} $expiresMs)`,
    ),
    revoke: change<[{ id: string; revokedMs: number }]>(
      db,
      'UPDATE api_key SET revoked_ms = $revokedMs WHERE id = $id AND revoked_ms IS NULL',
    ),
    remove(id: string): void {
      removeUsage(id)
      remove(id)
    },
  }
}

export const createNonceTable = (db: Database) => ({
  has: exists<[nonce: string]>(db, 'SELECT 1 FROM used_nonce WHERE nonce = $1'),
  insert: change<[typeof usedNonce.$inferSelect]>(db, sqlOf(usedNonce).insert()),
  /** One that expires this very moment is kept: the edge gains nothing. */
  forgetExpired: change<[nowMs: number]>(db, 'DELETE FROM used_nonce WHERE expires_ms < $1'),
})

export function createAnswerTable(db: Database, seals: Seals) {
  const sql = sqlOf(idempotency)
  const find = db.prepare<StoredAnswer, [id: string, sinceMs: number]>(
    `SELECT ${sql.columns(['id', 'fingerprint', 'sealed'])} FROM idempotency
     WHERE id = $1 AND created_ms > $2`,
  )
  const insert = change<[typeof idempotency.$inferSelect]>(db, sql.insert())
  const forget = change<[sinceMs: number]>(db, 'DELETE FROM idempotency WHERE created_ms <= $1')
  return {
    find: (id: string, nowMs: number): StoredAnswer | undefined =>
      find.get(id, nowMs - DAY_MS) ?? undefined,

    /** Throws if there is one: nothing is to be done twice. Forgets the old ones. */
    put(answer: StoredAnswer, nowMs: number): void {
      forget(nowMs - DAY_MS)
      const row = { ...answer, createdMs: nowMs }
      insert({ ...row, seal: seals.ofRow(sealNames.answer(row)) })
    },
  }
}

export function createSubscriptionTable(db: Database) {
  const rows = createRows(db, subscription, {
    what: 'subscription',
    parse: ({ seq, terms, ...row }): Subscription => ({
      ...row,
      terms: terms === undefined ? undefined : (JSON.parse(terms) as Terms),
    }),
  })
  const holders = db.prepare<{ bought: number; granted: number }, [string, number, number]>(
    `SELECT count(DISTINCT CASE WHEN terms IS NULL THEN NULL ELSE account_id END) AS bought,
      count(DISTINCT CASE WHEN terms IS NULL THEN account_id END) AS granted
      FROM subscription WHERE tier_id = $1 AND start_ms <= $2 AND (end_ms IS NULL OR end_ms > $3)`,
  )
  return {
    get: rows.get,
    list: rows.list<[accountId: string]>('WHERE account_id = $1 ORDER BY start_ms, seq'),
    countHolders: (tierId: string, nowMs: number) =>
      holders.get(tierId, nowMs, nowMs) ?? { bought: 0, granted: 0 },
    findOfPayment: rows.one<[paymentId: string]>('WHERE payment_id = $1'),
    move: rows.update('startMs', 'endMs'),

    /** Throws if the payment has paid for another one. */
    insert: ({ terms, ...row }: Subscription): void =>
      rows.insert({ ...row, terms: terms === undefined ? null : printTerms(terms) }),
  }
}

/** As JSON, without what an entry of the catalogue has besides. */
export const printTerms = (terms: Terms): string => JSON.stringify(termsOf(terms))

export function createTierTable(db: Database) {
  const rows = createRows(db, tiers, {
    what: 'tier',
    parse: ({ id, ...row }): Tier => ({
      ...row,
      tierId: id,
      coins: pick(coins, row.coins.split(',')),
      routes: pick(tierRoutes, row.routes.split(',')),
      isForSale: row.isForSale === 1,
    }),
  })
  const findRival = rows.one<[rank: number, tierId: string]>('WHERE rank = $1 AND id <> $2')
  const update = rows.update(
    'rank',
    'name',
    'coins',
    'routes',
    'requestsPerMinute',
    'amountMillionths',
    'periodDays',
    'requests',
    'isForSale',
    'contact',
  )
  return {
    list: rows.list<[]>('ORDER BY rank'),

    /** Throws if another tier has the rank. */
    put(tier: Tier): void {
      const { tierId: id, rank } = tier
      const rival = findRival(rank, id)
      if (rival !== undefined) throw new Error(`Tier ${rival.tierId} has rank ${rank} already.`)
      const row = {
        ...tier,
        id,
        coins: pick(coins, tier.coins).join(','),
        routes: pick(tierRoutes, tier.routes).join(','),
        isForSale: Number(tier.isForSale),
      }
      if (rows.find(id) === undefined) rows.insert(row)
      else update(row)
    },
  }
}

/** Those of `known` that are in `chosen`, in the order of the domain. */
const pick = <T extends string>(known: readonly T[], chosen: readonly string[]): T[] =>
  known.filter((one) => chosen.includes(one))
