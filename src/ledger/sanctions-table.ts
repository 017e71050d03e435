/** The sanctions list in force: facts about it, and the addresses on it in lower case. */
import type { Database } from '#src/sqlite/database.ts'

import type { SanctionsList } from './ledger.ts'

type Addresses = ReadonlySet<string>
type ListFacts = Omit<SanctionsList, 'entryCount'>

/** Finds and replaces the list. */
export function createSanctionsTable(db: Database) {
  // A list that has lost addresses by hand is none: nobody is cleared by what is left of it.
  const get = db.prepare<SanctionsList, []>(
    `SELECT published_on AS publishedOn, confirmed_ms AS confirmedMs, sha256,
       entry_count AS entryCount FROM sanctions_list
     WHERE entry_count = (SELECT count(*) FROM sanctions_address)`,
  )
  const put = db.prepare(
    `INSERT OR REPLACE INTO sanctions_list (id, published_on, confirmed_ms, sha256, entry_count)
     VALUES (1, ?, ?, ?, ?)`,
  )
  const confirm = db.prepare('UPDATE sanctions_list SET confirmed_ms = ?')
  const removeAddresses = db.prepare('DELETE FROM sanctions_address')
  const addAddress = db.prepare('INSERT OR IGNORE INTO sanctions_address (address) VALUES (?)')
  const listAddresses = db.prepare<{ address: string }, []>('SELECT address FROM sanctions_address')
  const hasAddress = db.prepare<unknown, [string]>(
    'SELECT 1 FROM sanctions_address WHERE address = ?',
  )
  const find = (): SanctionsList | undefined => get.get() ?? undefined

  return {
    find,

    /** True if the list differs from the one in force in `confirmedMs` at most; another parser may find other addresses. */
    isInForce({ publishedOn, sha256 }: ListFacts, addresses: Addresses): boolean {
      const known = find()
      return (
        known?.publishedOn === publishedOn &&
        known.sha256 === sha256 &&
        isSame(new Set(listAddresses.all().map(({ address }) => address)), toLowerCase(addresses))
      )
    },

    confirm(confirmedMs: number): void {
      confirm.run(confirmedMs)
    },

    replace(list: ListFacts, addresses: Addresses): void {
      const all = toLowerCase(addresses)
      put.run(list.publishedOn, list.confirmedMs, list.sha256, all.size)
      removeAddresses.run()
      for (const address of all) addAddress.run(address)
    },

    /** Any case: a spelling must not hide an address. */
    has: (address: string): boolean => hasAddress.get(address.toLowerCase()) !== null,
  }
}

export type SanctionsTable = ReturnType<typeof createSanctionsTable>

const toLowerCase = (addresses: Addresses): Set<string> =>
  new Set([...addresses].map((address) => address.toLowerCase()))

const isSame = (a: Addresses, b: Addresses): boolean => a.symmetricDifference(b).size === 0
