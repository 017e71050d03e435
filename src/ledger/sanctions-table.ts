/** The current sanctions list: facts about it, and the addresses on it in lower case. */
import { sanctionsAddress, sanctionsList } from '#db/ledger/schema.ts'
import type { ScreeningGrounds } from '#src/selling/screening.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import { isStale, type Ledger, type SanctionsList } from './ledger.ts'

type Draft = Parameters<Ledger['putSanctionsList']>[0]
type Put = ReturnType<Ledger['putSanctionsList']>
type Address = typeof sanctionsAddress.$inferSelect

/** Finds and replaces the list. */
export function createSanctionsTable(db: Database) {
  const sql = sqlOf(sanctionsList)
  const facts = ['publishedOn', 'confirmedMs', 'sha256', 'entryCount'] as const
  // A list that has lost addresses by hand is none: nobody is cleared by what is left of it.
  const get = db.prepare<SanctionsList, []>(
    `SELECT ${sql.columns(facts)} FROM sanctions_list
     WHERE entry_count = (SELECT count(*) FROM sanctions_address)`,
  )
  const write = db.prepare<unknown, [typeof sanctionsList.$inferSelect]>(
    `${sql.insert()} ON CONFLICT (id) DO UPDATE SET ${sql.setExcluded(facts)}`,
  )
  const removeAll = db.prepare<unknown, []>('DELETE FROM sanctions_address')
  const add = db.prepare<unknown, [Address]>(
    `${sqlOf(sanctionsAddress).insert()} ON CONFLICT (address) DO NOTHING`,
  )
  const list = db.prepare<Address, []>('SELECT address FROM sanctions_address')
  const find = db.prepare<unknown, [Address]>(
    'SELECT 1 FROM sanctions_address WHERE address = $address',
  )
  const current = (): SanctionsList | undefined => get.get() ?? undefined
  /** Any case: a spelling must not hide an address. */
  const has = (address: string): boolean => find.get({ address: address.toLowerCase() }) !== null

  /** As `Ledger.putSanctionsList`, but for the audit. */
  function put({ addresses: anyCase, lossPercentMax = 100, ...facts }: Draft, nowMs: number): Put {
    const addresses = new Set([...anyCase].map((address) => address.toLowerCase()))
    const known = new Set(list.all().map(({ address }) => address))
    const before = current() ?? { ...facts, sha256: '', confirmedMs: 0, entryCount: 0 }
    const lost = known.difference(addresses).size
    if (facts.publishedOn < before.publishedOn) return { kind: 'older' }
    if (lost * 100 > before.entryCount * lossPercentMax && before.entryCount > 0) {
      return { kind: 'lossy', lost, of: before.entryCount }
    }
    const isSameFile = before.sha256 === facts.sha256
    // An older copy of the list takes no confirmation back, unless a clock was ahead.
    const knownMs = isSameFile ? Math.min(before.confirmedMs, nowMs) : 0
    const confirmedMs = Math.max(facts.confirmedMs, knownMs)
    const entry = { ...facts, confirmedMs, entryCount: addresses.size }
    write.run({ id: 1, ...entry })
    // Another parser may find other addresses in the same file.
    const isSame = isSameFile && known.size === addresses.size && lost === 0
    if (isSame && before.publishedOn === entry.publishedOn)
      return { kind: 'confirmed', list: entry }
    removeAll.run()
    for (const address of addresses) add.run({ address })
    return { kind: 'replaced', list: entry }
  }

  return {
    find: current,
    has,
    put,

    /** What the list says of an address. */
    answer(address: string, at: Parameters<typeof isStale>[1]): ScreeningGrounds['list'] {
      const list = current()
      if (list === undefined) return { answer: 'absent', isStale: false }
      const { publishedOn, sha256 } = list
      return {
        answer: has(address) ? 'hit' : 'clear',
        isStale: isStale(list, at),
        publishedOn,
        sha256,
      }
    },
  }
}
