/** The current sanctions list: facts about it, and the addresses on it in lower case. */
import { sanctionsList } from '#db/ledger/schema.ts'
import type { ScreeningGrounds } from '#src/selling/screening.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import { isStale, type Ledger, type SanctionsList } from './ledger.ts'
import { change, exists } from './rows.ts'

type Draft = Parameters<Ledger['putSanctionsList']>[0]
type Put = ReturnType<Ledger['putSanctionsList']>

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
  const removeAll = change<[]>(db, 'DELETE FROM sanctions_address')
  const add = change<[address: string]>(db, 'INSERT INTO sanctions_address (address) VALUES (?)')
  const list = db.prepare<{ address: string }, []>('SELECT address FROM sanctions_address')
  const hasLower = exists<[string]>(db, 'SELECT 1 FROM sanctions_address WHERE address = ?')
  const find = (): SanctionsList | undefined => get.get() ?? undefined
  /** Any case: a spelling must not hide an address. */
  const has = (address: string): boolean => hasLower(address.toLowerCase())

  /** As `Ledger.putSanctionsList`, but for the audit. */
  function put({ addresses: anyCase, lossPercentMax = 100, ...facts }: Draft, nowMs: number): Put {
    const addresses = new Set([...anyCase].map((address) => address.toLowerCase()))
    const known = new Set(list.all().map(({ address }) => address))
    const before = find() ?? { ...facts, sha256: '', confirmedMs: 0, entryCount: 0 }
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
    const isConfirmed = isSame && before.publishedOn === entry.publishedOn
    if (isConfirmed) return { kind: 'confirmed', list: entry }
    removeAll()
    for (const address of addresses) add(address)
    return { kind: 'replaced', list: entry }
  }

  return {
    find,
    has,
    put,

    /** What the list says of an address. */
    answer(address: string, at: Parameters<typeof isStale>[1]): ScreeningGrounds['list'] {
      const known = find()
      if (known === undefined) return { answer: 'absent', isStale: false }
      const { publishedOn, sha256 } = known
      const answer = has(address) ? 'hit' : 'clear'
      return { answer, isStale: isStale(known, at), publishedOn, sha256 }
    },
  }
}
