/** Rows of the offer table: added, and changed only where the operator releases one. */
import { createHash } from 'node:crypto'

import {
  AMOUNT_SLOTS,
  AMOUNT_SLOTS_WIDE,
  type Offer,
  type PaymentRequirements,
  VALID_BEFORE_MS_MAX,
} from '#src/selling/offer.ts'
import type { TokenSymbol, TransferMethod } from '#src/selling/payment-chain.ts'
import { openStates } from '#src/selling/payment.ts'
import type { Terms } from '#src/selling/tier.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { OfferDraft, OfferRules, PaymentStore, ReservedOffer } from '../payments.ts'
import { printTerms } from '../subscription-table.ts'

type OfferRow = {
  id: string
  account_id: string
  payer: string | null
  terms: string
  period_days: number
  symbol: string
  method: string
  network: string
  asset: string
  amount: string
  requirements: string
  from_block: number
  created_ms: number
  expires_ms: number
  reserved_until_ms: number
}

/** An amount of a token that is asked for at a moment. */
type Place = { network: string; asset: string; nowMs: number }

/** An offer whose payment is open, however late it is, too: the amount must go on naming it. */
const hasPayment = (states: string) =>
  `EXISTS (SELECT 1 FROM payment WHERE offer_id = offer.id AND state ${states})`
const OPEN = openStates.map((state) => `'${state}'`).join(', ')
const IS_RESERVED = `(reserved_until_ms > $nowMs OR ${hasPayment(`IN (${OPEN})`)})`
const IS_TAKEN = hasPayment("NOT IN ('rejected', 'void')")
const IS_UNPAID = `NOT ${hasPayment("= 'provisioned'")}`
const AT_AMOUNT = 'network = $network AND asset = $asset AND amount = $amount'
/** Whether a payment that ends at $endMs may have been signed for the offer. */
const IS_TIMELY = `(created_ms <= $endMs AND $endMs <= expires_ms + ${VALID_BEFORE_MS_MAX})`

type AccountAmount = { accountId: string; network: string; asset: string; amount: bigint }
/** A wallet has an offer at the price with each purchase: the newest are enough, however many there were. */
const CANDIDATES_MAX = 100

/** Finds, adds and releases offers, and finds amounts that are free. */
export function createOfferTable(db: Database) {
  return { ...createReaders(db), ...createAmounts(db), ...createWriters(db) }
}

export type OfferTable = ReturnType<typeof createOfferTable>

type Named = Record<string, string | number>
const prepare = (db: Database, sql: string) => db.prepare<OfferRow, [Named]>(sql)

function createReaders(db: Database) {
  const byId = db.prepare<OfferRow, [string]>('SELECT * FROM offer WHERE id = ?')
  const ofPayer = prepare(
    db,
    `SELECT * FROM (SELECT *, rowid FROM offer WHERE ${AT_AMOUNT} AND payer = $payer
       AND created_ms <= $nowMs ORDER BY rowid DESC LIMIT ${CANDIDATES_MAX}) AS offer
     ORDER BY ${IS_TIMELY} DESC, ${IS_TAKEN}, created_ms DESC, rowid DESC LIMIT 1`,
  )
  const byAmount = prepare(
    db,
    `SELECT * FROM offer WHERE ${AT_AMOUNT} AND payer IS NULL AND created_ms <= $nowMs
       AND (${IS_RESERVED} OR (account_id = $accountId AND ${IS_TIMELY}))
     ORDER BY ${IS_RESERVED} DESC, created_ms DESC, rowid DESC LIMIT 1`,
  )
  const reserved = prepare(
    db,
    `SELECT * FROM offer WHERE reserved_until_ms > $nowMs AND payer IS NULL AND ${IS_UNPAID}
     ORDER BY created_ms, rowid`,
  )
  // The signs keep SQLite from the index of amounts, which other accounts share.
  const ofAccount = db.prepare<OfferRow, [string, string, string, string]>(
    `SELECT * FROM offer WHERE account_id = ? AND +network = ? AND +asset = ? AND +amount = ?
     ORDER BY created_ms DESC, rowid DESC LIMIT 20`,
  )
  const taken = db.prepare<unknown, [string]>(`SELECT 1 FROM offer WHERE id = ? AND ${IS_TAKEN}`)

  const find = (id: string): Offer | undefined => toOffer(byId.get(id))

  return {
    find,

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

    findFor: ((signed, { accountId, nowMs }) => {
      const { network, payer } = signed
      // The digits of a uint256 would be no integer to SQLite.
      const endMs = Math.min(Number(signed.validBefore) * 1000, Number.MAX_SAFE_INTEGER)
      const asset = signed.asset.toLowerCase()
      const query = { network, asset, amount: String(signed.amount) }
      const moment = { nowMs, endMs }
      const own = ofPayer.get({ ...query, ...moment, payer })
      return toOffer(own ?? byAmount.get({ ...query, ...moment, accountId }))
    }) satisfies PaymentStore['findOfferFor'],

    isTaken: (id: string): boolean => taken.get(id) !== null,

    listReserved: (nowMs: number): ReservedOffer[] => reserved.all({ nowMs }).map(toReserved),
  }
}

/** How many amounts of each range are tried: enough while one in five of the wide range is free. */
const PROBES = 20

function createAmounts(db: Database) {
  const holder = prepare(
    db,
    `SELECT * FROM offer WHERE ${AT_AMOUNT} AND payer IS NULL AND ${IS_RESERVED} LIMIT 1`,
  )
  const openOnes = prepare(
    db,
    `SELECT * FROM offer WHERE account_id = $accountId AND payer IS $payer
       AND reserved_until_ms > $nowMs ORDER BY created_ms DESC, rowid DESC`,
  )
  const begun = db.prepare<unknown, [string]>('SELECT 1 FROM payment WHERE offer_id = ? LIMIT 1')
  const counts = db.prepare<{ every: number; uniqueOnes: number }, [Named]>(
    `SELECT count(*) AS every, count(*) - count(payer) AS uniqueOnes FROM offer
     WHERE account_id = $accountId AND reserved_until_ms > $nowMs AND ${IS_UNPAID}`,
  )
  const openOf = ({ accountId, payer }: OfferDraft, nowMs: number) =>
    openOnes.all({ accountId, payer: payer ?? null, nowMs } as Named)

  return {
    countReserved: (accountId: string, nowMs: number) =>
      counts.get({ accountId, nowMs }) ?? { every: 0, uniqueOnes: 0 },

    /** An offer of the same that nobody has begun to pay, at the price or less. */
    findSame(draft: OfferDraft, { atomic, usableUntilMs }: OfferRules, nowMs: number) {
      const same = openOf(draft, nowMs).find(
        (row) =>
          row.expires_ms >= usableUntilMs &&
          isSame(row, draft) &&
          isNear(BigInt(row.amount), atomic) &&
          begun.get(row.id) === null,
      )
      return toOffer(same ?? null)
    },

    /** The price, or less where the wallet has an open offer of something else at that amount. */
    ownAmount(draft: OfferDraft, price: bigint, nowMs: number): bigint | undefined {
      const others = openOf(draft, nowMs).filter(
        (row) => isOfToken(row, draft) && !isSame(row, draft),
      )
      const amounts = new Set(others.map((row) => row.amount))
      for (let amount = price; amount > 0n; amount--) {
        if (!amounts.has(String(amount))) return amount
      }
      return undefined
    },

    /** An amount below the price that no offer has; undefined if none was found among those tried. */
    uniqueAmount(id: string, price: bigint, place: Place): bigint | undefined {
      const cent = atMost(AMOUNT_SLOTS, price - 1n)
      const wide = Math.max(cent, atMost(AMOUNT_SLOTS_WIDE, price / 100n))
      for (const range of [cent, wide]) {
        for (let probe = 0; probe < PROBES && range > 0; probe++) {
          const amount = price - 1n - BigInt(slotOf(`${id} ${range} ${probe}`, range))
          if (holder.get({ ...toQuery(place), amount: String(amount) }) === null) return amount
        }
      }
      return undefined
    },
  }
}

const atMost = (slots: number, available: bigint): number =>
  available < BigInt(slots) ? Number(available) : slots

/** Ids are random, so that these are too. */
const slotOf = (text: string, range: number): number =>
  createHash('sha256').update(text).digest().readUInt32BE() % range

const toQuery = ({ network, asset, nowMs }: Place): Named => ({
  network,
  asset: asset.toLowerCase(),
  nowMs,
})

const isNear = (amount: bigint, price: bigint): boolean =>
  amount <= price && amount >= price - BigInt(AMOUNT_SLOTS_WIDE)

const isOfToken = ({ network, asset }: OfferRow, { requirements }: OfferDraft): boolean =>
  network === requirements.network && asset === requirements.asset.toLowerCase()

/** True if both buy the same with the same token, from the same seller. */
const isSame = (row: OfferRow, draft: OfferDraft): boolean =>
  isOfToken(row, draft) &&
  row.terms === printTerms(draft.terms) &&
  row.period_days === draft.periodDays &&
  toRequirements(row).payTo === draft.requirements.payTo

function createWriters(db: Database) {
  const insert = db.prepare(
    `INSERT INTO offer (id, account_id, payer, terms, period_days, symbol, method, network, asset,
       amount, requirements, from_block, created_ms, expires_ms, reserved_until_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const release = db.prepare(
    `UPDATE offer SET expires_ms = min(expires_ms, $nowMs), reserved_until_ms = $nowMs
     WHERE id = $id AND payer IS NULL AND reserved_until_ms > $nowMs AND NOT ${IS_TAKEN}`,
  )
  return {
    insert(offer: Offer, reservedUntilMs: number): void {
      const { network, asset, amount } = offer.requirements
      insert.run(
        ...[offer.id, offer.accountId, offer.payer ?? null, printTerms(offer.terms)],
        ...[offer.periodDays, offer.symbol, offer.method, network, asset.toLowerCase(), amount],
        ...[JSON.stringify(offer.requirements), offer.fromBlock],
        ...[offer.createdMs, offer.expiresMs, reservedUntilMs],
      )
    },

    /** False if there is nothing to release: no such offer, no unique amount, or a payment has it. */
    release: (id: string, nowMs: number): boolean =>
      release.run({ id, nowMs } as Named).changes > 0,
  }
}

const toRequirements = ({ requirements }: OfferRow) =>
  JSON.parse(requirements) as PaymentRequirements

const toReserved = (row: OfferRow): ReservedOffer => ({
  ...toFound(row),
  reservedUntilMs: row.reserved_until_ms,
})

const toOffer = (row: OfferRow | null): Offer | undefined =>
  row === null ? undefined : toFound(row)

const toFound = (row: OfferRow): Offer => ({
  id: row.id,
  accountId: row.account_id,
  payer: row.payer ?? undefined,
  terms: JSON.parse(row.terms) as Terms,
  periodDays: row.period_days,
  symbol: row.symbol as TokenSymbol,
  method: row.method as TransferMethod,
  requirements: toRequirements(row),
  fromBlock: row.from_block,
  createdMs: row.created_ms,
  expiresMs: row.expires_ms,
})
