/** Rows of the offer table: added, never changed. */
import type { Offer, PaymentRequirements } from '#src/core/offer.ts'
import type { TokenSymbol, TransferMethod } from '#src/core/payment-chain.ts'
import { openStates } from '#src/core/payment.ts'
import type { Terms } from '#src/core/tier.ts'
import type { Database } from '#src/store/database.ts'
import { printTerms } from '#src/store/ledger/subscription-table.ts'

import { createAmountSlots, type TokenMoment } from './amount-slots.ts'

type OfferRow = {
  id: string
  account_id: string
  terms: string
  period_days: number
  symbol: string
  method: string
  requirements: string
  from_block: number
  created_ms: number
  expires_ms: number
}

/** Offers whose payment is open, however late it is: the amount must go on naming them. */
const BEING_PAID = `SELECT offer_id FROM payment
  WHERE state IN (${openStates.map((state) => `'${state}'`).join(', ')})`
const IS_RESERVED = `(reserved_until_ms > ? OR id IN (${BEING_PAID}))`

type AccountAmount = { accountId: string; network: string; asset: string; amount: bigint }

/** Finds and adds offers, and tells amounts that are free. */
export function createOfferTable(db: Database) {
  const byId = db.prepare<OfferRow, [string]>('SELECT * FROM offer WHERE id = ?')
  // Two of them only for a moment of the past, when the older one had the amount.
  const byAmount = db.prepare<OfferRow, [string, string, string, number]>(
    `SELECT * FROM offer WHERE network = ? AND asset = ? AND amount = ? AND ${IS_RESERVED}
     ORDER BY created_ms, rowid LIMIT 1`,
  )
  // The signs keep SQLite from the index of amounts, which other accounts share.
  const ofAccount = db.prepare<OfferRow, [string, string, string, string]>(
    `SELECT * FROM offer WHERE account_id = ? AND +network = ? AND +asset = ? AND +amount = ?
     ORDER BY created_ms DESC, rowid DESC LIMIT 20`,
  )
  const countReserved = db.prepare<{ count: number }, [string, number]>(
    `SELECT count(*) AS count FROM offer WHERE account_id = ? AND ${IS_RESERVED}
     AND id NOT IN (SELECT offer_id FROM payment WHERE state = 'provisioned')`,
  )
  const insert = db.prepare(
    `INSERT INTO offer (id, account_id, terms, period_days, symbol, method, network, asset, amount,
       requirements, from_block, created_ms, expires_ms, reserved_until_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )

  const slots = createAmountSlots(db)

  const find = (id: string): Offer | undefined => toOffer(byId.get(id))

  const findByAmount = ({ network, asset, amount, nowMs }: TokenMoment & { amount: bigint }) =>
    toOffer(byAmount.get(network, asset.toLowerCase(), String(amount), nowMs))

  return {
    find,
    findByAmount,

    listOf: ({ accountId, network, asset, amount }: AccountAmount): Offer[] =>
      ofAccount
        .all(accountId, network, asset.toLowerCase(), String(amount))
        .flatMap((row) => toOffer(row) ?? []),

    /** Throws if there is no such offer. */
    get(id: string): Offer {
      const offer = find(id)
      if (offer === undefined) throw new Error(`There is no offer ${id}.`)
      return offer
    },

    countReserved: (accountId: string, nowMs: number): number =>
      countReserved.get(accountId, nowMs)?.count ?? 0,

    /** The highest amount up to `price` that no offer has; undefined if all of its slots are taken. */
    freeAmount({ network, asset, nowMs }: TokenMoment, price: bigint): bigint | undefined {
      const moment = { network, asset: asset.toLowerCase(), nowMs }
      for (const amount of slots.free(moment, price)) {
        if (amount === 0n) return undefined
        // A payment that is late keeps its amount longer than it was reserved.
        if (findByAmount({ ...moment, amount }) === undefined) return amount
      }
      return undefined
    },

    insert(offer: Offer, reservedUntilMs: number): void {
      const { network, asset, amount } = offer.requirements
      insert.run(
        ...[offer.id, offer.accountId, printTerms(offer.terms), offer.periodDays],
        ...[offer.symbol, offer.method, network, asset.toLowerCase(), amount],
        ...[JSON.stringify(offer.requirements), offer.fromBlock],
        ...[offer.createdMs, offer.expiresMs, reservedUntilMs],
      )
    },
  }
}

export type OfferTable = ReturnType<typeof createOfferTable>

function toOffer(row: OfferRow | null): Offer | undefined {
  if (row === null) return undefined
  return {
    id: row.id,
    accountId: row.account_id,
    terms: JSON.parse(row.terms) as Terms,
    periodDays: row.period_days,
    symbol: row.symbol as TokenSymbol,
    method: row.method as TransferMethod,
    requirements: JSON.parse(row.requirements) as PaymentRequirements,
    fromBlock: row.from_block,
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
  }
}
