/**
 * Which amounts are taken, in memory. Asking the file for each of them would take milliseconds once
 * thousands of offers are open. The file has the word all the same: see `freeAmount` of the offer table.
 */
import { AMOUNT_SLOTS } from '#src/core/offer.ts'
import type { Database } from '#src/store/database.ts'

export type TokenMoment = { network: string; asset: string; nowMs: number }

type SlotRow = [amount: string, reservedUntilMs: number]
/** The newest offer that was looked at: while it is there, so are all before it, which are never changed. */
type Newest = { rowid: number; id: string }
/** Until when each amount of a page of `AMOUNT_SLOTS` is reserved. */
type Page = Float64Array
/** The pages of one token, by number. */
type Known = { pages: Map<bigint, Page>; newest: Newest | null }

const PAGE_SIZE = BigInt(AMOUNT_SLOTS)

export function createAmountSlots(db: Database) {
  const newestOffer = db.prepare<Newest, []>(
    'SELECT rowid, id FROM offer ORDER BY rowid DESC LIMIT 1',
  )
  const isThere = db.prepare<unknown, [number, string]>(
    'SELECT 1 FROM offer WHERE rowid = ? AND id = ?',
  )
  const reserved = db.prepare<unknown, [string, string, number]>(
    `SELECT amount, reserved_until_ms FROM offer
     WHERE network = ? AND asset = ? AND reserved_until_ms > ?`,
  )
  // The sign keeps SQLite from an index that would lead it through all the offers of the token.
  const added = db.prepare<unknown, [number, string, string]>(
    `SELECT amount, reserved_until_ms FROM offer
     WHERE rowid > ? AND +network = ? AND +asset = ?`,
  )
  const tokens = new Map<string, Known>()

  /** Reads what came since, from whichever process; all anew if what was read has been rolled back. */
  function read({ network, asset, nowMs }: TokenMoment): Known['pages'] {
    const key = `${network} ${asset}`
    const known = tokens.get(key)
    const from = known?.newest
    const isKept = from && isThere.get(from.rowid, from.id) !== null
    const pages = known && isKept ? known.pages : new Map<bigint, Page>()
    const rows = isKept
      ? added.values(from.rowid, network, asset)
      : reserved.values(network, asset, nowMs)
    note(pages, rows as SlotRow[])
    tokens.set(key, { pages, newest: newestOffer.get() })
    return pages
  }

  return {
    /** The amounts up to `price` that no offer has reserved, the highest first. */
    *free(moment: TokenMoment, price: bigint): Generator<bigint> {
      const pages = read(moment)
      const top = price / PAGE_SIZE
      const last = Number(price % PAGE_SIZE)
      yield* freeIn({ pages, number: top, nowMs: moment.nowMs }, last, 0)
      if (top === 0n) return
      yield* freeIn({ pages, number: top - 1n, nowMs: moment.nowMs }, AMOUNT_SLOTS - 1, last + 1)
    },
  }
}

type Place = { pages: Known['pages']; number: bigint; nowMs: number }

/** Free amounts of one page, downwards, both ends inclusive. */
function* freeIn({ pages, number, nowMs }: Place, from: number, to: number): Generator<bigint> {
  const page = pages.get(number)
  for (let slot = from; slot >= to; slot--) {
    if ((page?.[slot] ?? 0) <= nowMs) yield number * PAGE_SIZE + BigInt(slot)
  }
}

function note(pages: Known['pages'], rows: readonly SlotRow[]): void {
  for (const [text, reservedUntilMs] of rows) {
    const amount = BigInt(text)
    const number = amount / PAGE_SIZE
    const page = pages.get(number) ?? new Float64Array(AMOUNT_SLOTS)
    const slot = Number(amount % PAGE_SIZE)
    page[slot] = Math.max(page[slot] ?? 0, reservedUntilMs)
    pages.set(number, page)
  }
}
