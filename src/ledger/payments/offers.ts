/** Offers: created, found for a signed payment, and released by the operator. */
import { createHash } from 'node:crypto'

import { offer as offers } from '#db/ledger/schema.ts'
import type { TokenSymbol, TransferMethod } from '#src/domain/selling/payment-chain.ts'
import {
  isForAnotherPeriod,
  type Offer,
  openStates,
  type PaymentRequirements,
  type PaymentState,
  VALID_BEFORE_MS_MAX,
} from '#src/domain/selling/payment.ts'
import type { Terms } from '#src/domain/selling/tier.ts'

import { type Accounts, printTerms } from '../accounts.ts'
import type { LedgerCore } from '../core.ts'
import type { OfferDraft, PaymentReads, PaymentVerbs, ReservedOffer } from '../payments.ts'
import { change, createRows, exists, read, type Row } from '../rows.ts'

export const printStates = (states: readonly PaymentState[]): string =>
  states.map((state) => `'${state}'`).join(', ')

/**
 * SQL for an offer with an open payment, however late: the amount must keep identifying the offer.
 */
const hasPayment = (states: string) =>
  `EXISTS (SELECT 1 FROM payment WHERE offer_id = offer.id AND state ${states})`
const IS_RESERVED = `(reserved_until_ms > $nowMs OR ${hasPayment(`IN (${printStates(openStates)})`)})`
const IS_TAKEN = hasPayment("NOT IN ('rejected', 'void')")
const IS_UNPAID = `NOT ${hasPayment("= 'provisioned'")}`
/**
 * An offer without a quote has reserved nothing, and is paid only by the payment that it arrived
 * with.
 */
const IS_QUOTED = 'reserved_until_ms > 0'
const AT_AMOUNT = `network = $network AND asset = $asset AND amount = $amount AND ${IS_QUOTED}`
const NEWEST_FIRST = 'ORDER BY created_ms DESC, seq DESC'
/** True if a payment that ends at $endMs may have been signed for the offer. */
const IS_TIMELY = `(created_ms <= $endMs AND $endMs <= expires_ms + ${VALID_BEFORE_MS_MAX})`
/** A wallet may have an offer at the price for each purchase: the newest suffice. */
const CANDIDATES_MAX = 100

/**
 * The maximum deduction from a price, in atomic units, that makes an amount unique: up to a cent,
 * and up to ten once the cent is nearly full, but at most a hundredth of the price.
 */
export const AMOUNT_SLOTS = 10_000
const AMOUNT_SLOTS_WIDE = 100_000
/** Amounts tried per range: enough while one in five of the wide range is free. */
const PROBES = 20

type AtAmount = { network: string; asset: string; amount: string }

export type Offers = ReturnType<typeof createOffers>

export function createOffers({ db, note }: LedgerCore, accounts: Accounts) {
  const rows = createRows(db, offers, { what: 'offer', parse: toOffer })
  const reservedRows = createRows(db, offers, { what: 'offer', parse: toReserved })
  const forPayer = rows.one<[AtAmount & { nowMs: number; endMs: number; payer: string }]>(
    `WHERE id IN (SELECT id FROM offer WHERE ${AT_AMOUNT} AND payer = $payer
       AND created_ms <= $nowMs ORDER BY seq DESC LIMIT ${CANDIDATES_MAX})
     ORDER BY ${IS_TIMELY} DESC, ${IS_TAKEN}, created_ms DESC, seq DESC LIMIT 1`,
  )
  const byAmount = rows.one<[AtAmount & { nowMs: number; endMs: number; accountId: string }]>(
    `WHERE ${AT_AMOUNT} AND payer IS NULL AND created_ms <= $nowMs
       AND (${IS_RESERVED} OR (account_id = $accountId AND ${IS_TIMELY}))
     ORDER BY ${IS_RESERVED} DESC, created_ms DESC, seq DESC LIMIT 1`,
  )
  // The empty text prevents the use of the index of amounts, which other accounts share.
  const ofAccount = rows.list<[AtAmount & { accountId: string }]>(
    `WHERE account_id = $accountId AND network || '' = $network AND asset = $asset
       AND amount = $amount AND ${IS_QUOTED} ${NEWEST_FIRST} LIMIT 20`,
  )
  const release = change<[{ id: string; nowMs: number }]>(
    db,
    `UPDATE offer SET reserved_until_ms = $nowMs,
       expires_ms = CASE WHEN expires_ms < $nowMs THEN expires_ms ELSE $nowMs END
     WHERE id = $id AND payer IS NULL AND reserved_until_ms > $nowMs AND NOT ${IS_TAKEN}`,
  )
  const isHeld = exists<[AtAmount & { nowMs: number }]>(
    db,
    `SELECT 1 FROM offer WHERE ${AT_AMOUNT} AND payer IS NULL AND ${IS_RESERVED}`,
  )
  const listOpen = rows.list<[{ accountId: string; nowMs: number; payer: string | null }]>(
    `WHERE account_id = $accountId AND payer IS NOT DISTINCT FROM $payer
       AND reserved_until_ms > $nowMs ${NEWEST_FIRST}`,
  )
  // An offer reserved until then was created before, which permits an index search.
  const countSince = db.prepare<{ count: number }, [sinceMs: number, reservedMs: number]>(
    `SELECT count(*) AS count FROM offer WHERE created_ms >= $1 AND reserved_until_ms >= $2`,
  )
  const isBegun = exists<[id: string]>(db, 'SELECT 1 FROM payment WHERE offer_id = $1')
  type Counts = { every: number; uniqueOnes: number }
  const counts = read<[{ accountId: string; nowMs: number }], Counts, Counts>(
    db,
    `SELECT count(*) AS every, count(*) - count(payer) AS "uniqueOnes" FROM offer
     WHERE account_id = $accountId AND reserved_until_ms > $nowMs AND ${IS_UNPAID}`,
    ([row]) => row ?? { every: 0, uniqueOnes: 0 },
  )

  /** The price, or less if the wallet has an open offer for something else at that amount. */
  function findOwnAmount(draft: OfferDraft, open: Offer[], price: bigint): bigint | undefined {
    const others = open.filter((offer) => isSameToken(offer, draft) && !isSame(offer, draft))
    const amounts = new Set(others.map(({ requirements }) => requirements.amount))
    for (let amount = price; amount > 0n; amount--) {
      if (!amounts.has(String(amount))) return amount
    }
    return undefined
  }

  /** An amount below the price that no offer has; undefined if every attempt failed. */
  function findUniqueAmount(draft: OfferDraft, price: bigint, nowMs: number): bigint | undefined {
    const { network } = draft.requirements
    const asset = draft.requirements.asset.toLowerCase()
    const cent = atMost(AMOUNT_SLOTS, price - 1n)
    const wide = Math.max(cent, atMost(AMOUNT_SLOTS_WIDE, price / 100n))
    for (const range of [cent, wide]) {
      for (let probe = 0; probe < PROBES && range > 0; probe++) {
        const amount = price - 1n - BigInt(slotOf(`${draft.id} ${range} ${probe}`, range))
        if (!isHeld({ network, asset, nowMs, amount: String(amount) })) return amount
      }
    }
    return undefined
  }

  function insert({ terms, requirements, ...offer }: Offer, reservedUntilMs: number): void {
    rows.insert({
      ...offer,
      network: requirements.network,
      asset: requirements.asset.toLowerCase(),
      amount: requirements.amount,
      reservedUntilMs,
      terms: printTerms(terms),
      requirements: JSON.stringify(requirements),
    })
  }

  return {
    get: rows.get,
    insert,

    reads: {
      findOffer: rows.find,
      isOfferTaken: exists<[id: string]>(db, `SELECT 1 FROM offer WHERE id = $1 AND ${IS_TAKEN}`),

      findOfferFor(signed, { accountId, nowMs, aheadMs = 0 }) {
        const { network, payer } = signed
        const asset = signed.asset.toLowerCase()
        const amount = String(signed.amount)
        // A uint256 would exceed SQLite's integers.
        const endMs = Math.min(Number(signed.validBefore) * 1000 + aheadMs, Number.MAX_SAFE_INTEGER)
        const query = { network, asset, amount, nowMs, endMs }
        return forPayer({ ...query, payer }) ?? byAmount({ ...query, accountId })
      },

      listOffersOf: ({ accountId, network, asset, amount }) =>
        ofAccount({ accountId, network, asset: asset.toLowerCase(), amount: String(amount) }),

      listReservedOffers: reservedRows.list<[nowMs: number]>(
        `WHERE reserved_until_ms > $1 AND payer IS NULL AND ${IS_UNPAID} ORDER BY created_ms, seq`,
      ),

      countOffers: (sinceMs) => countSince.get(sinceMs, sinceMs)?.count ?? 0,
    } satisfies Partial<PaymentReads>,

    verbs: {
      openOffer(draft, rules, by) {
        const { accountId, payer } = draft
        const { nowMs } = by
        accounts.get(accountId)
        const open = listOpen({ accountId, payer: payer ?? null, nowMs })
        const known = open.find(
          (offer) =>
            offer.expiresMs >= rules.usableUntilMs &&
            isSame(offer, draft) &&
            isForAnotherPeriod(offer) === isForAnotherPeriod(draft) &&
            isNear(BigInt(offer.requirements.amount), rules.atomic) &&
            !isBegun(offer.id),
        )
        if (known !== undefined) return { kind: 'open', offer: known }
        const isUnique = payer === undefined
        const held = counts({ accountId, nowMs })
        if (held.every >= rules.offersMax) return { kind: 'limit' }
        if (isUnique && held.uniqueOnes >= rules.uniqueMax) return { kind: 'limit' }
        const amount = isUnique
          ? findUniqueAmount(draft, rules.atomic, nowMs)
          : findOwnAmount(draft, open, rules.atomic)
        if (amount === undefined) return { kind: 'no_amount' }
        const requirements = { ...draft.requirements, amount: String(amount) }
        insert({ ...draft, requirements, createdMs: nowMs }, rules.reservedUntilMs)
        note(by, 'offer.opened', draft.id)
        return { kind: 'opened', offer: rows.get(draft.id) }
      },

      releaseOffer(id, by) {
        const isReleased = release({ id, nowMs: by.nowMs })
        if (isReleased) note(by, 'offer.released', id)
        return isReleased
      },
    } satisfies Partial<PaymentVerbs>,
  }
}

const atMost = (slots: number, available: bigint): number =>
  available < BigInt(slots) ? Number(available) : slots

/** Ids are random, and so are these slots. */
const slotOf = (text: string, range: number): number =>
  createHash('sha256').update(text).digest().readUInt32BE() % range

const isNear = (amount: bigint, price: bigint): boolean =>
  amount <= price && amount >= price - BigInt(AMOUNT_SLOTS_WIDE)

const isSameToken = (offer: Offer, { requirements }: OfferDraft): boolean =>
  offer.requirements.network === requirements.network &&
  offer.requirements.asset.toLowerCase() === requirements.asset.toLowerCase()

/** True if both offers sell the same product for the same token to the same recipient. */
const isSame = (offer: Offer, draft: OfferDraft): boolean =>
  isSameToken(offer, draft) &&
  printTerms(offer.terms) === printTerms(draft.terms) &&
  offer.periodDays === draft.periodDays &&
  offer.requirements.payTo === draft.requirements.payTo

const toOffer = (row: Row<typeof offers>): Offer => {
  const { reservedUntilMs, ...offer } = toReserved(row)
  return offer
}

const toReserved = (row: Row<typeof offers>): ReservedOffer => {
  const { seq, network, asset, amount, ...offer } = row
  return {
    ...offer,
    terms: JSON.parse(row.terms) as Terms,
    symbol: row.symbol as TokenSymbol,
    method: row.method as TransferMethod,
    requirements: JSON.parse(row.requirements) as PaymentRequirements,
  }
}
