/** Prepares an opened ledger: its key, the default tiers and the coins of this version. */
import { randomBytes } from 'node:crypto'

import type { Database } from '#src/database/database.ts'
import { coins } from '#src/domain/market.ts'
import { defaultTiers, type Tier } from '#src/domain/selling/tier.ts'

import { createAccounts } from './accounts.ts'
import { sealKey } from './checksums.ts'
import { convertSeals } from './convert-seals.ts'
import { createLedgerCore } from './core.ts'
import { change, exists } from './rows.ts'

/**
 * Prepares a ledger for use, in a write transaction. `nowMs` is the audited time of the default
 * tiers of a new ledger. Throws `storage_unavailable` for a ledger of a version that is too old.
 */
export function prepareLedger(db: Database, nowMs: number): void {
  convertSeals(db)
  makeChallengeKey(db)
  const core = createLedgerCore(db, () => undefined)
  const accounts = createAccounts(core)
  const knownCoins = createKnownCoins(db)
  /** Tiers that had every coin before this version added some; they get the new ones too. */
  const withEveryCoin = (): Tier[] => {
    const before = knownCoins.get()
    if (coins.every((coin) => before.includes(coin))) return []
    return accounts
      .listCatalogue()
      .filter((tier) => before.every((coin) => tier.coins.some((each) => each === coin)))
      .map((tier) => ({ ...tier, coins }))
  }
  // A ledger without a trace of any tier is new.
  const isNew = accounts.listCatalogue().length === 0 && core.chain.head() === undefined
  for (const tier of isNew ? defaultTiers : withEveryCoin())
    accounts.verbs.putTier(tier, { actor: 'system', nowMs })
  knownCoins.put()
}

function makeChallengeKey(db: Database): void {
  if (exists<[]>(db, "SELECT 1 FROM meta WHERE key = 'challenge_key'")()) return
  const key = new Uint8Array(randomBytes(32))
  // If the key was removed, its replacement has no checksum, so that `verifyAudit` reports it.
  const isNew = !exists<[]>(db, 'SELECT 1 FROM audit LIMIT 1')()
  const insert = change<[Uint8Array]>(
    db,
    "INSERT INTO meta (key, value) VALUES ('challenge_key', $1)",
  )
  insert(isNew ? sealKey(key) : key)
}

/** The coins supported before ledgers stored a list of coins. */
const FIRST_COINS = 'btc,eth,sol,xrp'

/** The coins known to the version that used the ledger last. */
function createKnownCoins(db: Database) {
  const find = db.prepare<{ value: unknown }, []>("SELECT value FROM meta WHERE key = 'coins'")
  const store = db.prepare<unknown, [value: Uint8Array]>(
    `INSERT INTO meta (key, value) VALUES ('coins', $1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  const get = (): string[] => {
    const value = find.get()?.value
    const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : FIRST_COINS
    return text.split(',')
  }
  return {
    get,
    put(): void {
      if (find.get() === null || get().join(',') !== coins.join(','))
        store.run(new TextEncoder().encode(coins.join(',')))
    },
  }
}
