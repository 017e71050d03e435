/** Accounts, their subscriptions, and the catalogue of tiers. */
import { account, subscription, tier as tiers } from '#db/ledger/schema.ts'
import { coins } from '#src/domain/market.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import {
  FREE_TIER_ID,
  isPack,
  type Terms,
  termsOf,
  type Tier,
  tierRoutes,
} from '#src/domain/selling/tier.ts'
import { assert } from '#src/platform/assert.ts'

import type { LedgerCore } from './core.ts'
import type { Account, LedgerReads, LedgerVerbs } from './ledger.ts'
import { change, createRows, exists } from './rows.ts'

/**
 * Each condition is an index search. Grants are subscriptions, and created keys are in the audit
 * chain.
 */
const IS_FREE = `address IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM subscription WHERE account_id = account.id)
  AND NOT EXISTS (SELECT 1 FROM credit WHERE account_id = account.id)
  AND NOT EXISTS (
    SELECT 1 FROM audit WHERE actor = 'operator' AND action IN ('account.created', 'key.created')
      AND subject IN (SELECT account.id UNION ALL SELECT id FROM api_key WHERE account_id = account.id))`

/** A payment that may still arrive needs its account; one proved void does not. */
const IS_IDLE = `blocked_ms IS NULL AND created_ms < $sinceMs
  AND NOT EXISTS (
    SELECT 1 FROM api_key WHERE account_id = account.id
      AND (created_ms >= $sinceMs OR last_used_ms >= $sinceMs))
  AND NOT EXISTS (
    SELECT 1 FROM payment WHERE account_id = account.id AND state NOT IN ('rejected', 'void'))
  AND NOT EXISTS (
    SELECT 1 FROM offer WHERE account_id = account.id
      AND (created_ms >= $sinceMs OR reserved_until_ms >= $sinceMs))`

/**
 * SQL that is true for a text that contains `$search`; false for an empty `$search`.
 */
export const contains = (text: string): string => `replace(${text}, lower($search), '') <> ${text}`
/**
 * SQL that is true for terms printed by `printTerms` if `$search` is the id or the name of the
 * tier.
 */
export const isOfTier = (terms: string): string =>
  ['tierid', 'name']
    .map(
      (key) =>
        `replace(lower(${terms}), '"${key}":"' || lower($search) || '"', '') <> lower(${terms})`,
    )
    .join(' OR ')
const runs = (subscription: string): string =>
  `${subscription}.account_id = account.id AND ${subscription}.start_ms <= $nowMs
    AND (${subscription}.end_ms IS NULL OR ${subscription}.end_ms > $nowMs)`
/** The tier found by `standingAt`; ranks are those of the catalogue. */
const HAS_TIER = `EXISTS (
    SELECT 1 FROM subscription AS had JOIN tier ON tier.id = had.tier_id
    WHERE ${runs('had')} AND (had.tier_id = lower($search) OR ${isOfTier('had.terms')}
      OR (had.terms IS NULL AND lower(tier.name) = lower($search)))
    AND NOT EXISTS (
      SELECT 1 FROM subscription AS other JOIN tier AS higher ON higher.id = other.tier_id
      WHERE ${runs('other')} AND higher.rank > tier.rank))`
const HAS_FREE = `EXISTS (
    SELECT 1 FROM tier WHERE id = '${FREE_TIER_ID}'
    AND (id = lower($search) OR lower(name) = lower($search)))
  AND NOT EXISTS (
    SELECT 1 FROM subscription AS had JOIN tier ON tier.id = had.tier_id WHERE ${runs('had')})`
const MATCHES = `$search IS NULL OR ${contains('id')} OR ${contains('address')} OR ${contains('lower(label)')}
  OR EXISTS (
    SELECT 1 FROM api_key WHERE account_id = account.id AND (
      hint = $search OR ${contains('api_key.id')} OR ${contains('lower(api_key.label)')}))
  OR (${HAS_TIER}) OR (${HAS_FREE})`

type Steps = { sinceMs: number; stepMs: number }

export type Accounts = ReturnType<typeof createAccounts>

export function createAccounts({ db, record }: LedgerCore) {
  const rows = createRows(db, account, { what: 'account', parse: (row): Account => row })
  const findByAddress = rows.one<[address: string]>('WHERE address = $1')
  const page = rows.list<
    [Record<'search' | 'id', string | null> & Record<'nowMs' | 'ms' | 'limit', number>]
  >(
    `WHERE (${MATCHES}) AND (created_ms, id) < ($ms, $id)
      ORDER BY created_ms DESC, id DESC LIMIT $limit`,
  )
  const count = db.prepare<{ count: number }, [sinceMs: number]>(
    'SELECT count(*) AS count FROM account WHERE created_ms >= $1',
  )
  const signups = db.prepare<{ stepMs: number; count: number }, [Steps]>(
    `SELECT created_ms / $stepMs * $stepMs AS "stepMs", count(*) AS count FROM account
     WHERE created_ms >= $sinceMs AND address IS NOT NULL GROUP BY 1 ORDER BY 1`,
  )
  const isFree = exists<[id: string]>(db, `SELECT 1 FROM account WHERE id = $1 AND ${IS_FREE}`)
  const setBlockedMs = rows.update('blockedMs')

  /** Throws if the address has an account. */
  function insert(draft: Omit<Account, 'blockedMs'>): void {
    const { address } = draft
    if (address !== undefined) {
      // Another spelling would be another account, absent from every sanctions list.
      assert(address === address.toLowerCase(), 'an address is in lower case')
      const other = findByAddress(address)
      if (other !== undefined) throw new Error(`${address} has account ${other.id} already.`)
    }
    rows.insert(draft)
  }

  const subscriptions = createRows(db, subscription, {
    what: 'subscription',
    parse: ({ seq, terms, ...row }): Subscription => ({
      ...row,
      terms: terms === undefined ? undefined : (JSON.parse(terms) as Terms),
    }),
  })
  const listSubscriptions = subscriptions.list<[accountId: string]>(
    'WHERE account_id = $1 ORDER BY start_ms, seq',
  )
  const holders = db.prepare<{ bought: number; granted: number }, [string, number, number]>(
    `SELECT count(DISTINCT CASE WHEN terms IS NULL THEN NULL ELSE account_id END) AS bought,
      count(DISTINCT CASE WHEN terms IS NULL THEN account_id END) AS granted
      FROM subscription WHERE tier_id = $1 AND start_ms <= $2 AND (end_ms IS NULL OR end_ms > $3)`,
  )
  /** Throws if the payment already has a subscription. */
  const insertSubscription = ({ terms, ...row }: Subscription): void =>
    subscriptions.insert({ ...row, terms: terms === undefined ? null : printTerms(terms) })

  const catalogue = createRows(db, tiers, {
    what: 'tier',
    parse: ({ id, ...row }): Tier => ({
      ...row,
      tierId: id,
      coins: pick(coins, row.coins.split(',')),
      routes: pick(tierRoutes, row.routes.split(',')),
      isForSale: row.isForSale === 1,
    }),
  })
  const listCatalogue = catalogue.list<[]>('ORDER BY rank')
  const findRival = catalogue.one<[rank: number, tierId: string]>('WHERE rank = $1 AND id <> $2')
  const updateTier = catalogue.update(
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
    findByAddress,
    get: rows.get,
    insert,
    isFree,
    listAfter: rows.list<[id: string, limit: number]>('WHERE id > $1 ORDER BY id LIMIT $2'),
    isIdle: exists<[{ id: string; sinceMs: number }]>(
      db,
      `SELECT 1 FROM account WHERE id = $id AND ${IS_FREE} AND ${IS_IDLE}`,
    ),
    remove: change<[id: string]>(db, 'DELETE FROM account WHERE id = $1'),
    /** Tiers and packs by rank. */
    listCatalogue,
    subscriptions: {
      list: listSubscriptions,
      find: subscriptions.find,
      findOfPayment: subscriptions.one<[paymentId: string]>('WHERE payment_id = $1'),
      insert: insertSubscription,
      move: subscriptions.update('startMs', 'endMs'),
    },

    reads: {
      findAccount: rows.find,
      findAccountByAddress: findByAddress,
      listAddressedAccounts: rows.list<[]>('WHERE address IS NOT NULL ORDER BY created_ms, id'),
      listAccounts: ({ search, nowMs, after, limit }) =>
        page({
          search: search ?? null,
          nowMs,
          limit,
          ms: after?.createdMs ?? Number.MAX_SAFE_INTEGER,
          id: after?.id ?? '',
        }),
      countAccounts: (sinceMs) => count.get(sinceMs)?.count ?? 0,
      countSignups: (since) => signups.all(since),
      isFree,

      listSubscriptions,
      countHolders: (tierId, nowMs) =>
        holders.get(tierId, nowMs, nowMs) ?? { bought: 0, granted: 0 },
      listTiers: () => listCatalogue().filter((tier) => !isPack(tier)),
      listPacks: () => listCatalogue().filter(isPack),
    } satisfies Partial<LedgerReads>,

    verbs: {
      createAccount(draft, by) {
        insert({ ...draft, createdMs: by.nowMs })
        record(by, 'account.created', draft.id)
        return rows.get(draft.id)
      },

      setBlocked(id, isBlocked, by) {
        if ((rows.get(id).blockedMs !== undefined) === isBlocked) return
        setBlockedMs({ id, blockedMs: isBlocked ? by.nowMs : undefined })
        record(by, isBlocked ? 'account.blocked' : 'account.unblocked', id)
      },

      addSubscription(draft, by) {
        rows.get(draft.accountId)
        insertSubscription({ ...draft, createdMs: by.nowMs })
        record(by, 'subscription.added', draft.id)
        return subscriptions.get(draft.id)
      },

      putTier(tier, by) {
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
        if (catalogue.find(id) === undefined) catalogue.insert(row)
        else updateTier(row)
        record(by, 'tier.put', id)
      },
    } satisfies Partial<LedgerVerbs>,
  }
}

/** Terms as JSON, without the other members of a catalogue entry. */
export const printTerms = (terms: Terms): string => JSON.stringify(termsOf(terms))

/** Members of `known` that are in `chosen`, in the order of the domain. */
const pick = <T extends string>(known: readonly T[], chosen: readonly string[]): T[] =>
  known.filter((one) => chosen.includes(one))
