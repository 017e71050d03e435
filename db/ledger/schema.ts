/**
 * Tables of ledger.db: who may read what, and what was done about it. Times are Unix milliseconds.
 * A column `seq` counts the rows as they were inserted, and orders those of the same time.
 */
import { sql } from 'drizzle-orm/sql/sql'
import { blob } from 'drizzle-orm/sqlite-core/columns/blob'
import { integer } from 'drizzle-orm/sqlite-core/columns/integer'
import { text } from 'drizzle-orm/sqlite-core/columns/text'
import { index, uniqueIndex } from 'drizzle-orm/sqlite-core/indexes'
import { primaryKey } from 'drizzle-orm/sqlite-core/primary-keys'
import { sqliteTable } from 'drizzle-orm/sqlite-core/table'

/** Facts about the file itself. */
export const meta = sqliteTable('meta', {
  key: text('key').primaryKey(),
  value: blob('value').notNull(),
})

/** The live catalogue: what is offered now. What was bought is copied into its subscription. */
export const tier = sqliteTable('tier', {
  id: text('id').primaryKey(),
  /** Place in the catalogue, ascending: a higher one is the higher tier. */
  rank: integer('rank').notNull().unique(),
  name: text('name').notNull(),
  /** Comma-separated, in the order of the domain. */
  coins: text('coins').notNull(),
  routes: text('routes').notNull(),
  requestsPerMinute: integer('requests_per_minute').notNull(),
  /** Millionths of a USDC a period; null where the amount is agreed upon. */
  amountMillionths: integer('amount_micros'),
  periodDays: integer('period_days'),
  /** Of a pack: how many requests are bought in place of a period. */
  requests: integer('requests'),
  isForSale: integer('is_for_sale').notNull(),
  contact: text('contact'),
})

/** Whom keys belong to: a wallet, or somebody whom the operator knows. */
export const account = sqliteTable('account', {
  id: text('id').primaryKey(),
  /** `0x` and 40 lower-case hex digits. */
  address: text('address').unique(),
  label: text('label'),
  createdMs: integer('created_ms').notNull(),
  /** Set while the address is on a sanctions list. */
  blockedMs: integer('blocked_ms'),
})

/** A key is its digest; the key itself is nowhere. */
export const apiKey = sqliteTable(
  'api_key',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** SHA-256 of the whole key. */
    digest: blob('digest').$type<Uint8Array>().notNull().unique(),
    /** Last characters of the key, to recognize it by. */
    hint: text('hint').notNull(),
    label: text('label'),
    /** The first key of a row of rotations: all of them share one rate window. */
    familyId: text('family_id').notNull(),
    createdMs: integer('created_ms').notNull(),
    /** Exclusive: not valid from here on. */
    expiresMs: integer('expires_ms'),
    revokedMs: integer('revoked_ms'),
    lastUsedMs: integer('last_used_ms'),
    seq: integer('seq').notNull().default(0),
  },
  (table) => [
    index('api_key_account').on(table.accountId, table.createdMs),
    index('api_key_seq').on(table.seq),
  ],
)

/** A time in which an account has a tier. */
export const subscription = sqliteTable(
  'subscription',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    tierId: text('tier_id').notNull(),
    /** What was bought, as JSON; null for a grant, which follows the catalogue. */
    terms: text('terms'),
    startMs: integer('start_ms').notNull(),
    /** Exclusive; null for ever. */
    endMs: integer('end_ms'),
    paymentId: text('payment_id').unique(),
    createdMs: integer('created_ms').notNull(),
    seq: integer('seq').notNull().default(0),
  },
  (table) => [
    index('subscription_account').on(table.accountId, table.startMs),
    index('subscription_seq').on(table.seq),
  ],
)

/** Requests that were paid for; named by their payment. */
export const credit = sqliteTable(
  'credit',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** What they may be spent on, as JSON. */
    terms: text('terms').notNull(),
    requests: integer('requests').notNull(),
    used: integer('used').notNull(),
    createdMs: integer('created_ms').notNull(),
    /** See `src/ledger/checksums.ts`. */
    checksum: integer('checksum'),
  },
  (table) => [index('credit_account').on(table.accountId, table.createdMs)],
)

/** What a payment for a single request is read with; named by the payment. */
export const paidAnswer = sqliteTable('paid_answer', {
  id: text('id').primaryKey(),
  /** SHA-256 of method, path and query, hex: the payment reads no other. */
  address: text('address').notNull(),
  /** Answers that were begun. */
  answers: integer('answers').notNull(),
  /** When the first whole body was handed to a connection; null until then. */
  deliveredMs: integer('delivered_ms'),
  checksum: integer('checksum'),
})

/** Challenges that were answered, until they would have expired anyway. */
export const usedNonce = sqliteTable('used_nonce', {
  nonce: text('nonce').primaryKey(),
  expiresMs: integer('expires_ms').notNull(),
})

/** First answers to requests that must not be done twice, for a day. */
export const idempotency = sqliteTable('idempotency', {
  /** Hash of whose it is and the Idempotency-Key. */
  id: text('id').primaryKey(),
  /** Hash of the request. */
  fingerprint: text('fingerprint').notNull(),
  /** The answer, encrypted with what only the caller has. */
  sealed: blob('sealed').$type<Uint8Array>().notNull(),
  createdMs: integer('created_ms').notNull(),
  /** See `src/ledger/checksums.ts`. */
  checksum: integer('checksum'),
})

/** Requests and bytes of a key by UTC day and route. */
export const usage = sqliteTable(
  'usage',
  {
    keyId: text('key_id').notNull(),
    /** `2026-11-21`. */
    day: text('day').notNull(),
    route: text('route').notNull(),
    requests: integer('requests').notNull(),
    bytes: integer('bytes').notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyId, table.day, table.route] })],
)

/** The current sanctions list; one row. */
export const sanctionsList = sqliteTable('sanctions_list', {
  id: integer('id').primaryKey(),
  /** The publisher's date: `2026-11-20`. */
  publishedOn: text('published_on').notNull(),
  /** When the list was last seen to be the published one. */
  confirmedMs: integer('confirmed_ms').notNull(),
  /** SHA-256 of the file, hex. */
  sha256: text('sha256').notNull(),
  entryCount: integer('entry_count').notNull(),
  /** See `src/ledger/checksums.ts`. */
  checksum: integer('checksum'),
})

/** The EVM addresses on that list, lower case. */
export const sanctionsAddress = sqliteTable('sanctions_address', {
  address: text('address').primaryKey(),
})

/** Tiers offered at an amount; only a release by the operator changes a row. */
export const offer = sqliteTable(
  'offer',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    /** The account's wallet, lower case; null where the amount is unique. */
    payer: text('payer'),
    /** What is bought, as JSON. */
    terms: text('terms').notNull(),
    /** 0 where requests are bought. */
    periodDays: integer('period_days').notNull(),
    requests: integer('requests'),
    symbol: text('symbol').notNull(),
    method: text('method').notNull(),
    network: text('network').notNull(),
    /** Lower case. */
    asset: text('asset').notNull(),
    /** Atomic units as decimal digits: as an integer it would lose some of them on the way. */
    amount: text('amount').notNull(),
    /** What a wallet signs, as JSON. */
    requirements: text('requirements').notNull(),
    fromBlock: integer('from_block').notNull(),
    createdMs: integer('created_ms').notNull(),
    /** Exclusive. */
    expiresMs: integer('expires_ms').notNull(),
    /** Exclusive: until then the amount names this offer alone (of its payer, where it has one). */
    reservedUntilMs: integer('reserved_until_ms').notNull(),
    seq: integer('seq').notNull().default(0),
  },
  (table) => [
    index('offer_seq').on(table.seq),
    index('offer_reserved').on(table.reservedUntilMs),
    index('offer_amount').on(table.network, table.asset, table.amount, table.payer, table.seq),
    index('offer_account').on(table.accountId, table.reservedUntilMs),
  ],
)

/** Signed payments on their way. The signature is in `payload`, and nowhere else. */
export const payment = sqliteTable(
  'payment',
  {
    id: text('id').primaryKey(),
    offerId: text('offer_id').notNull(),
    accountId: text('account_id').notNull(),
    state: text('state').notNull(),
    network: text('network').notNull(),
    method: text('method').notNull(),
    /** Addresses in lower case. */
    asset: text('asset').notNull(),
    payer: text('payer').notNull(),
    payTo: text('pay_to').notNull(),
    /** Up to 256 bits, as decimal digits; so are the two bounds, in Unix seconds. */
    amount: text('amount').notNull(),
    validAfter: text('valid_after').notNull(),
    validBefore: text('valid_before').notNull(),
    nonce: text('nonce').notNull(),
    nonceContract: text('nonce_contract').notNull(),
    /** The payer's own name for it (`payment-identifier` of x402). */
    identifier: text('identifier'),
    payloadHash: text('payload_hash').notNull(),
    payload: text('payload').notNull(),
    attempts: integer('attempts').notNull(),
    leaseUntilMs: integer('lease_until_ms'),
    /** As the facilitator reported it. */
    txHash: text('tx_hash'),
    /** Where the chain says that the money arrived. */
    proofTxHash: text('proof_tx_hash'),
    blockNumber: integer('block_number'),
    logIndex: integer('log_index'),
    reason: text('reason'),
    /** What the operator decided about it. */
    resolution: text('resolution'),
    createdMs: integer('created_ms').notNull(),
    updatedMs: integer('updated_ms').notNull(),
  },
  (table) => [
    // One payment per authorization, one authorization per transfer, one live payment per offer.
    uniqueIndex('payment_nonce').on(table.network, table.nonceContract, table.payer, table.nonce),
    uniqueIndex('payment_proof').on(table.network, table.proofTxHash, table.logIndex),
    uniqueIndex('payment_offer')
      .on(table.offerId)
      .where(sql`state NOT IN ('rejected', 'void', 'review')`),
    index('payment_identifier')
      .on(table.payer, table.identifier)
      .where(sql`identifier IS NOT NULL`),
    index('payment_of_offer').on(table.offerId),
    index('payment_account').on(table.accountId, table.createdMs, table.id),
    index('payment_created').on(table.createdMs, table.id),
    index('payment_state').on(table.state, table.createdMs, table.id),
    index('payment_payer').on(table.payer, table.amount),
    index('payment_updated').on(table.updatedMs),
  ],
)

/** Money that arrived without a payment of ours. */
export const unmatchedTransfer = sqliteTable(
  'unmatched_transfer',
  {
    id: text('id').primaryKey(),
    network: text('network').notNull(),
    asset: text('asset').notNull(),
    fromAddress: text('from_address').notNull(),
    /** Decimal digits. */
    amount: text('amount').notNull(),
    txHash: text('tx_hash').notNull(),
    blockNumber: integer('block_number').notNull(),
    logIndex: integer('log_index').notNull(),
    foundMs: integer('found_ms').notNull(),
    /** What the operator decided about it. */
    resolution: text('resolution'),
  },
  (table) => [
    uniqueIndex('unmatched_transfer_log').on(table.network, table.txHash, table.logIndex),
  ],
)

/** Up to which block (inclusive) transfers were looked at. */
export const scannedBlock = sqliteTable('scanned_block', {
  network: text('network').primaryKey(),
  blockNumber: integer('block_number').notNull(),
})

/** What a server did in five minutes. A process that ends leaves its row, and the next has its own. */
export const activity = sqliteTable(
  'activity',
  {
    /** When the five minutes begin. */
    stepMs: integer('step_ms').notNull(),
    /** Names the process. */
    server: text('server').notNull(),
    requests: integer('requests').notNull(),
    /** Responses of 500 and above. */
    errors: integer('errors').notNull(),
    /** Requests by duration, as JSON: a count for each bound of `src/http/meters.ts`, and one above. */
    durations: text('durations').notNull(),
    /** Refusals and failures by their code, as JSON. */
    problems: text('problems').notNull(),
    /** When the recorder began that runs on the data folder; null where none does. */
    recorderStartedMs: integer('recorder_started_ms'),
    /** States that it stored. */
    recordedRows: integer('recorded_rows').notNull(),
    /** The largest lag to the disk that was seen. */
    recorderLagMs: integer('recorder_lag_ms'),
  },
  (table) => [primaryKey({ columns: [table.stepMs, table.server] })],
)

/** What was done, by whom; each row carries the hash of all before it. Triggers refuse changes. */
export const audit = sqliteTable(
  'audit',
  {
    seq: integer('seq').primaryKey(),
    timeMs: integer('time_ms').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    subject: text('subject').notNull(),
    /** What became of the subject, as JSON. */
    state: text('state').notNull(),
    hash: blob('hash').$type<Uint8Array>().notNull(),
  },
  // What the operator made is not forgotten; nothing else is looked up by subject.
  (table) => [
    index('audit_operator')
      .on(table.subject)
      .where(sql`actor = 'operator'`),
  ],
)
