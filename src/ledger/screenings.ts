/** Verdicts on addresses, and the current sanctions list with its addresses in lower case. */
import { sanctionsList } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { judge, type ScreeningGrounds } from '#src/domain/selling/screening.ts'

import { addressesDigest, checksums, listAddresses } from './checksums.ts'
import type { LedgerCore } from './core.ts'
import { isStale, type LedgerReads, type LedgerVerbs, type SanctionsList } from './ledger.ts'
import { change, exists, read } from './rows.ts'

export function createScreenings({ db, chain }: LedgerCore) {
  const sql = sqlOf(sanctionsList)
  const facts = ['publishedOn', 'confirmedMs', 'sha256', 'entryCount'] as const
  // A list from which addresses were deleted by hand counts as absent: its rest clears no address.
  const find = read<[], SanctionsList, SanctionsList | undefined>(
    db,
    `SELECT ${sql.columns(facts)} FROM sanctions_list
     WHERE entry_count = (SELECT count(*) FROM sanctions_address)`,
    ([row]) => row,
  )
  const write = change<[typeof sanctionsList.$inferSelect]>(
    db,
    `${sql.insert()} ON CONFLICT (id) DO UPDATE SET ${sql.setExcluded([...facts, 'checksum'])}`,
  )
  const removeAll = change<[]>(db, 'DELETE FROM sanctions_address')
  const add = change<[address: string]>(db, 'INSERT INTO sanctions_address (address) VALUES ($1)')
  const hasLower = exists<[string]>(db, 'SELECT 1 FROM sanctions_address WHERE address = $1')
  /** Accepts any case, because a spelling must not hide an address. */
  const has = (address: string): boolean => hasLower(address.toLowerCase())

  function ask(address: string, at: Parameters<typeof isStale>[1]): ScreeningGrounds['list'] {
    const known = find()
    if (known === undefined) return { answer: 'absent', isStale: false }
    const { publishedOn, sha256 } = known
    const answer = has(address) ? 'hit' : 'clear'
    return { answer, isStale: isStale(known, at), publishedOn, sha256 }
  }

  function put(
    {
      addresses: anyCase,
      lossPercentMax = 100,
      ...facts
    }: Parameters<LedgerVerbs['putSanctionsList']>[0],
    nowMs: number,
  ): ReturnType<LedgerVerbs['putSanctionsList']> {
    const addresses = new Set([...anyCase].map((address) => address.toLowerCase()))
    const known = new Set(listAddresses(db))
    const before = find() ?? { ...facts, sha256: '', confirmedMs: 0, entryCount: 0 }
    const lost = known.difference(addresses).size
    if (facts.publishedOn < before.publishedOn) return { kind: 'older' }
    if (lost * 100 > before.entryCount * lossPercentMax && before.entryCount > 0) {
      return { kind: 'lossy', lost, of: before.entryCount }
    }
    const isSameFile = before.sha256 === facts.sha256
    // An older copy of the list does not withdraw a confirmation, unless a clock was ahead.
    const knownMs = isSameFile ? Math.min(before.confirmedMs, nowMs) : 0
    const confirmedMs = Math.max(facts.confirmedMs, knownMs)
    const entry = { ...facts, confirmedMs, entryCount: addresses.size }
    write({ id: 1, ...entry, checksum: checksums.sanctions(entry, addresses) })
    // Another parser may find other addresses in the same file.
    const isSame = isSameFile && known.size === addresses.size && lost === 0
    const isConfirmed = isSame && before.publishedOn === entry.publishedOn
    if (isConfirmed) return { kind: 'confirmed', list: entry }
    removeAll()
    for (const address of addresses) add(address)
    return { kind: 'replaced', list: entry }
  }

  return {
    reads: { sanctionsList: find, isSanctioned: has } satisfies Partial<LedgerReads>,

    verbs: {
      recordScreening({ address, chain: asked, staleAfterMs }, by) {
        const grounds = { list: ask(address, { nowMs: by.nowMs, staleAfterMs }), ...asked }
        const verdict = { verdict: judge(grounds), address, timeMs: by.nowMs, grounds }
        const action = `screening.${verdict.verdict}` as const
        chain.append(by, { action, subject: address, state: JSON.stringify(verdict) })
        return verdict
      },

      putSanctionsList(draft, by) {
        const done = put(draft, by.nowMs)
        if (done.kind === 'replaced') {
          const addressesSha256 = addressesDigest(listAddresses(db))
          const state = JSON.stringify({ ...done.list, addressesSha256 })
          chain.append(by, { action: 'sanctions_list.replaced', subject: done.list.sha256, state })
        }
        return done
      },
    } satisfies Partial<LedgerVerbs>,
  }
}
