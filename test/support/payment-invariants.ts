/**
 * The invariants of chain and ledger, whatever happened before: a program that reads only an RPC
 * and the database, and shares no code with the checked program except the audit chain's hash.
 */

import type { Database } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { openReplica } from '#src/extensions/postgres/replica.ts'
import { createAuditChain, createAuditedRows, verifyAudit } from '#src/ledger/audit.ts'

import { toPlace } from './stores.ts'

/** A response of `settle` to a signed payment. */
export type GivenAnswer = { payer: string; nonce: string; status: number }

export type Evidence = {
  rpcUrl: string
  /** A file, or the address of a PostgreSQL. */
  ledgerPath: string
  payTo: string
  /** Every response to a submitted payment. */
  answers: readonly GivenAnswer[]
}

export type PaymentFact = {
  id: string
  account: string
  state: string
  asset: string
  payer: string
  amount: string
  nonce: string
  validBefore: number
  proof: string | undefined
}
type Transfer = { place: string; asset: string; from: string; amount: bigint; blockNumber: number }
type Head = { number: number; seconds: number }
type Step = { seq: number; action: string; subject: string; state: string }
type Span = { account: string; tier: string; days: number }
type Ledger = {
  payments: PaymentFact[]
  steps: Step[]
  /** Payments with a period, one entry for each. */
  periods: string[]
  unmatched: string[]
  spans: Span[]
  bought: Span[]
  auditFaults: string[]
}
type Facts = Ledger & { transfers: Transfer[]; final: Head; sanctioned: Set<string> }

const DAY_MS = 86_400_000
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const IS_SANCTIONED = '0xdf592f7d'
const ORACLE = '0x40C57923924B5c5c5455c48D93317139ADDaC8fb'
const open = ['received', 'screened', 'settling', 'pending', 'unknown', 'settled']

/** The permitted moves from each state. */
const moves: Record<string, readonly string[]> = {
  '': ['received'],
  received: ['screened', 'rejected', 'void', 'review'],
  screened: ['settling', 'pending', 'unknown', 'settled', 'rejected', 'void', 'review'],
  settling: ['screened', 'settling', 'pending', 'unknown', 'settled', 'void', 'review'],
  pending: ['settling', 'pending', 'unknown', 'settled', 'void', 'review'],
  unknown: ['settling', 'pending', 'unknown', 'settled', 'void', 'review'],
  settled: ['provisioned'],
  rejected: ['screened', 'pending', 'settled', 'void', 'review'],
}

/**
 * A sentence for each broken invariant of DESIGN.md §6; the chain must have decided every payment.
 */
export async function findBrokenInvariants(evidence: Evidence): Promise<string[]> {
  const ledger = await readLedger(evidence.ledgerPath)
  const chain = await readChain(evidence, new Set(ledger.payments.map(({ payer }) => payer)))
  const facts = { ...ledger, ...chain }
  return [
    ...ledger.auditFaults,
    ...ledger.payments.flatMap((payment) => [...checkPayment(facts, payment)]),
    ...ledger.payments.flatMap((payment) => [...checkSteps(facts, payment)]),
    ...checkPeriods(facts),
    ...checkTransfers(facts),
    ...checkAnswers(facts, evidence.answers),
    ...checkDays(facts),
  ]
}

/** The payment of a nonce, read from the file of a ledger only. */
export function readPayment(path: string, nonce: string): PaymentFact | undefined {
  const { payments } = factsOf(openDatabase(path, { format: ledgerFormat, isReadOnly: true }))
  return payments.find((payment) => payment.nonce === nonce)
}

/** The amounts of accounts without a wallet are distinct, so the amount identifies the payment. */
const isTransferOf = (payment: PaymentFact, transfer: Transfer): boolean =>
  transfer.asset === payment.asset &&
  transfer.from === payment.payer &&
  transfer.amount === BigInt(payment.amount)

function* checkPayment(facts: Facts, payment: PaymentFact): Generator<string> {
  const { id, state, payer } = payment
  const found = facts.transfers.filter((transfer) => isTransferOf(payment, transfer))
  const isPaid = found.some(({ blockNumber }) => blockNumber <= facts.final.number)
  const periods = facts.periods.filter((paymentId) => paymentId === id).length
  if (periods > 1) yield `${id} has ${periods} periods.`
  if (periods > 0 !== (state === 'provisioned')) yield `${id} is ${state} with ${periods} periods.`
  if (periods > 0 && !isPaid) yield `${id} has a period, but the chain does not say paid.`
  if (isPaid && periods === 0 && state !== 'review') yield `${id} is paid and ${state}.`
  if (periods > 0 && !found.some(({ place }) => place === payment.proof)) {
    yield `${id} names ${payment.proof} for its proof, which is not its transfer.`
  }
  if (periods > 0 && facts.sanctioned.has(payer)) yield `${id} serves a sanctioned payer.`
  if (open.includes(state) && payment.validBefore < facts.final.seconds) {
    yield `${id} is still ${state}, though its last second is final.`
  }
}

/**
 * Checks that each move is permitted, that nothing is sent for a payer who was not just screened,
 * and that each `settling` is a separate attempt.
 */
function* checkSteps({ steps }: Facts, { id, payer, state }: PaymentFact): Generator<string> {
  let before = ''
  let screening = 'none'
  let attempts = 0
  for (const { seq, action, subject, state: row } of steps) {
    if (subject === payer && action.startsWith('screening.')) screening = action
    if (subject !== id || !action.startsWith('payment.')) continue
    const next = action.slice('payment.'.length)
    if (!moves[before]?.includes(next)) yield `${id} went from ${before} to ${next} in row ${seq}.`
    if (next === 'received') screening = 'none'
    if (next === 'settling' && screening !== 'screening.clear') {
      yield `${id} was sent in row ${seq} after ${screening}.`
    }
    const after = (JSON.parse(row) as { attempts: number }).attempts
    if (after !== attempts + (next === 'settling' ? 1 : 0)) {
      yield `${id} went from ${before} to ${next} in row ${seq} with ${after} attempts.`
    }
    attempts = after
    before = next
  }
  if (before !== state) yield `${id} is ${state}, but its last audited move was to ${before}.`
}

function* checkPeriods({ periods, payments }: Facts): Generator<string> {
  const known = new Set(payments.map(({ id }) => id))
  for (const id of periods) if (!known.has(id)) yield `A period names ${id}, which is no payment.`
}

/**
 * Checks that all money is explained: by the period that it bought, or by a case for the operator.
 */
function* checkTransfers({ transfers, payments, unmatched, final }: Facts): Generator<string> {
  const explained = new Set(unmatched)
  for (const payment of payments) {
    if (payment.state === 'provisioned') explained.add(payment.proof ?? '')
    if (payment.state !== 'review') continue
    for (const transfer of transfers) {
      if (isTransferOf(payment, transfer)) explained.add(transfer.place)
    }
  }
  for (const { place, blockNumber } of transfers) {
    if (blockNumber <= final.number && !explained.has(place)) yield `Nothing explains ${place}.`
  }
}

/** Checks that a payer who was asked to pay again has never paid. */
function* checkAnswers(facts: Facts, answers: readonly GivenAnswer[]): Generator<string> {
  for (const { payer, nonce, status } of answers) {
    const payment = facts.payments.find((one) => one.nonce === nonce && one.payer === payer)
    if (status !== 402 || !payment) continue
    const isSent = facts.transfers.some((transfer) => isTransferOf(payment, transfer))
    if (isSent) yield `${payment.id} was answered with 402, and its money moved.`
  }
}

/** Checks that no paid day is lost or granted twice, however periods were moved. */
function* checkDays({ spans, bought }: Facts): Generator<string> {
  const given = sumDays(spans)
  const due = sumDays(bought)
  for (const name of new Set([...given.keys(), ...due.keys()])) {
    const has = given.get(name) ?? 0
    const wants = due.get(name) ?? 0
    if (Math.abs(has - wants) > 1e-6) yield `${name} has ${has} days and has bought ${wants}.`
  }
}

function sumDays(spans: readonly Span[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { account, tier, days } of spans) {
    const name = `${account} ${tier}`
    sums.set(name, (sums.get(name) ?? 0) + days)
  }
  return sums
}

/** Opens the tables of a ledger, bypassing its verbs. */
async function openRaw(place: string): Promise<Database> {
  const { path, address } = toPlace('ledger', place)
  if (address !== undefined) {
    const replica = openReplica({
      place: address,
      store: 'ledger',
      path,
      server: '',
      timer: () => performance.now(),
    })
    await replica.pull()
    replica.close()
  }
  return openDatabase(path, { format: ledgerFormat, isReadOnly: true })
}

const readLedger = async (path: string): Promise<Ledger> => factsOf(await openRaw(path))

/** Reads the facts and closes the database. */
function factsOf(db: Database): Ledger {
  const all = <T>(sql: string): T[] => db.query<T, []>(sql).all()
  try {
    const payments = all<Omit<PaymentFact, 'proof'> & { proof: string | null }>(
      `SELECT id, account_id AS account, state, asset, payer, amount, nonce,
         CAST(valid_before AS BIGINT) AS "validBefore",
         proof_tx_hash || ' ' || log_index AS proof FROM payment ORDER BY created_ms, id`,
    )
    const paid = `FROM payment p JOIN offer o ON o.id = p.offer_id WHERE p.state = 'provisioned'`
    const unmatched = `SELECT tx_hash || ' ' || log_index AS place FROM unmatched_transfer`
    return {
      payments: payments.map((payment) => ({ ...payment, proof: payment.proof ?? undefined })),
      steps: all<Step>('SELECT seq, action, subject, state FROM audit ORDER BY seq'),
      periods: all<{ id: string }>(
        'SELECT payment_id AS id FROM subscription WHERE payment_id IS NOT NULL',
      ).map(({ id }) => id),
      unmatched: all<{ place: string }>(unmatched).map(({ place }) => place),
      spans: all<Omit<Span, 'days'> & { ms: number }>(
        `SELECT account_id AS account, tier_id AS tier, end_ms - start_ms AS ms
         FROM subscription WHERE terms IS NOT NULL`,
      ).map(({ ms, ...span }) => ({ ...span, days: ms / DAY_MS })),
      bought: all<Omit<Span, 'tier'> & { terms: string }>(
        `SELECT p.account_id AS account, o.terms AS terms, o.period_days AS days ${paid}`,
      ).map(({ terms, ...span }) => ({ ...span, tier: JSON.parse(terms).tierId })),
      auditFaults: verifyAudit({
        db,
        chain: createAuditChain(db),
        rows: createAuditedRows(db),
      }),
    }
  } finally {
    db.close()
  }
}

async function askNode(rpcUrl: string, method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(rpcUrl, { method: 'POST', headers, body })
  const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}

const wordOf = (address: string) => address.slice(2).toLowerCase().padStart(64, '0')

/** All transfers to an address, from the events of the tokens. */
export async function readTransfers({
  rpcUrl,
  payTo,
}: Pick<Evidence, 'rpcUrl' | 'payTo'>): Promise<Transfer[]> {
  const topics = [TRANSFER_TOPIC, null, `0x${wordOf(payTo)}`]
  const range = { fromBlock: '0x0', toBlock: 'latest', topics }
  const logs = (await askNode(rpcUrl, 'eth_getLogs', [range])) as {
    address: string
    topics: string[]
    data: string
    transactionHash: string
    blockNumber: string
    logIndex: string
  }[]
  return logs.map(({ address, topics: [, from = ''], ...log }) => ({
    place: `${log.transactionHash} ${Number(log.logIndex)}`,
    asset: address.toLowerCase(),
    from: `0x${from.slice(-40)}`,
    amount: BigInt(log.data),
    blockNumber: Number(log.blockNumber),
  }))
}

async function readChain({ rpcUrl, payTo }: Evidence, payers: Set<string>) {
  const asked = await askNode(rpcUrl, 'eth_getBlockByNumber', ['finalized', false])
  const block = asked as Record<string, string>
  const transfers = await readTransfers({ rpcUrl, payTo })
  const sanctioned = new Set<string>()
  for (const payer of payers) {
    const call = { to: ORACLE, data: IS_SANCTIONED + wordOf(payer) }
    const answer = await askNode(rpcUrl, 'eth_call', [call, 'latest'])
    if (BigInt(String(answer)) !== 0n) sanctioned.add(payer)
  }
  const final = { number: Number(block.number), seconds: Number(block.timestamp) }
  return { transfers, final, sanctioned }
}
