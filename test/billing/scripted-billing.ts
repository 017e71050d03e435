/**
 * Billing on a real ledger in memory, with a chain, a facilitator and a screen
 * that say what they are told to.
 */
import { createBilling } from '#src/billing/create-billing.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { ChainVerdict, FoundTransfer, Preflight } from '#src/domain/selling/chain-view.ts'
import type { SettleResult, SupportedKind } from '#src/domain/selling/facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { Offer, Payment, SignedPayment } from '#src/domain/selling/payment.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { openLedgerIn } from '../support/stores.ts'

export const NOW_MS = Date.UTC(2026, 10, 21, 12)
export const PAY_TO = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
export const PAYER = '0x1111111111111111111111111111111111111111'
export const SIGNATURE = `0x${'ab'.repeat(65)}`
export const TX = `0x${'c'.repeat(64)}`

export type Script = {
  nowMs: number
  verdict: ChainVerdict
  preflight: Preflight
  /** What is said first, before `preflight`. */
  preflights: Preflight[]
  result: SettleResult
  screening: Verdict['verdict']
  kinds: SupportedKind[] | undefined
  /** Why there are no kinds, and the wallet without gas. */
  fault: { reason: string; gasAddress?: string }
  faults: { chain?: string; tokens: { USDC?: string; USDT?: string } }
  hasHead: boolean
  finalNumber: number
  transfers: FoundTransfer[]
  /** Is called while the facilitator is. */
  onSettle: () => void | Promise<void>
  onSleep: (ms: number) => void | Promise<void>
  /** Is called before each look, and after it. */
  onLook: (signed: SignedPayment) => void | Promise<void>
  onSeen: () => void
}

export const paid = (isFinal: boolean, logIndex = 3): ChainVerdict => ({
  kind: 'paid',
  proof: { txHash: TX, blockNumber: 120, logIndex },
  isFinal,
})

const initial = (): Script => ({
  nowMs: NOW_MS,
  verdict: paid(true),
  preflight: { kind: 'ready' },
  preflights: [],
  result: { kind: 'success', txHash: TX },
  screening: 'clear',
  kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:137' }],
  fault: { reason: 'HTTP 502' },
  faults: { tokens: {} },
  hasHead: true,
  finalNumber: 100,
  transfers: [],
  onSettle: () => undefined,
  onSleep: () => undefined,
  onLook: () => undefined,
  onSeen: () => undefined,
})

type Parts = {
  hasChain?: boolean
  hasFacilitator?: boolean
  payTo?: string
  lease?: { ms: number; renewMs: number }
  /** A file or an address, which another server may have open; in memory by default. */
  ledgerPlace?: string
  /** Begins the ids that this server makes. */
  prefix?: string
  /** Is awaited whenever it waits for anything outside. */
  atWait?: () => Promise<void>
  /** Is called before each of its calls of the ledger, and awaited by those that write. */
  atCall?: () => Promise<void>
}

export async function openBilling(parts: Parts = {}) {
  const { hasChain = true, hasFacilitator = true, payTo = PAY_TO, lease } = parts
  const { ledgerPlace = ':memory:', prefix = '', atCall, atWait = async () => undefined } = parts
  const script = initial()
  const calls = {
    payloads: [] as string[],
    traces: [] as (string | undefined)[],
    looks: 0,
    slept: [] as number[],
    log: [] as string[],
  }
  const ledger = await openLedgerIn(ledgerPlace, { nowMs: NOW_MS })
  let minted = 0
  const billing = createBilling({
    ledger: atCall === undefined ? ledger : watchLedger(ledger, atCall),
    listTiers: ledger.listTiers,
    chains: [
      {
        chain: homeChain,
        view: hasChain ? fakeChain(script, calls, atWait) : undefined,
        facilitator: hasFacilitator ? fakeFacilitator(script, calls, atWait) : undefined,
      },
    ],
    payTo,
    lease,
    screen: async (address) => {
      await atWait()
      return {
        verdict: script.screening,
        address,
        timeMs: script.nowMs,
        grounds: {
          list: { answer: 'absent', isStale: true },
          oracle: 'absent',
          issuers: 'absent',
        },
      }
    },
    clock: () => script.nowMs,
    createId: () => prefix + String(++minted).padStart(6, '0'),
    sleep: async (ms) => {
      calls.slept.push(ms)
      await atWait()
      await script.onSleep(ms)
    },
    origin: () => 'https://feed.example',
    log: (line, _, requestId) => calls.log.push(`${line}${requestId ? ` ${requestId}` : ''}`),
  })
  await billing.refresh()
  const caller = async (accountId: string): Promise<Caller> => {
    if (!ledger.findAccount(accountId)) {
      const address = accountId === 'acc_1' ? PAYER : undefined
      await ledger.createAccount({ id: accountId, address }, { actor: 'operator', nowMs: NOW_MS })
    }
    const standing = standingAt([], ledger.listTiers(), script.nowMs)
    return { keyId: 'key_1', familyId: 'key_1', accountId, isBlocked: false, standing }
  }
  /** The caller whose account has this wallet. */
  const walletOf = async (address: string): Promise<Caller> => {
    const by = { actor: 'operator', nowMs: NOW_MS } as const
    const found = ledger.findAccountByAddress(address)
    return caller((found ?? (await ledger.createAccount({ id: `acc_${address}`, address }, by))).id)
  }
  const me = await caller('acc_1')
  const quote = async (token = 'USDC', tierId = 'pro', anotherPeriod = false) =>
    (await billing.quote(me, { tierId, network: 'eip155:137', token, anotherPeriod })).offer
  return { billing, ledger, script, calls, caller, walletOf, me, quote }
}

export type World = Awaited<ReturnType<typeof openBilling>>

const watchLedger = (ledger: Ledger, atCall: () => Promise<void>): Ledger => ({
  ...ledger,
  async atomically(body) {
    await atCall()
    return ledger.atomically(body)
  },
  payments: watchCalls(ledger.payments, atCall),
})

/** Reads of a store are synchronous. */
const READ = /^(count|find|is|list|scanned|search|sum)/

const watchCalls = (payments: Ledger['payments'], atCall: () => Promise<void>) =>
  new Proxy(payments, {
    get(target, name, receiver) {
      const call = Reflect.get(target, name, receiver) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        const isOver = atCall()
        return READ.test(String(name)) ? call(...args) : isOver.then(() => call(...args))
      }
    },
  })

/** Waits before and after it answers, so that a test may do something in between. */
const fakeChain = (script: Script, calls: { looks: number }, atWait: () => Promise<void>) => ({
  async preflight() {
    await atWait()
    const preflight = script.preflights.shift() ?? script.preflight
    await atWait()
    return preflight
  },
  look: async (signed: SignedPayment) => {
    calls.looks++
    await atWait()
    await script.onLook(signed)
    const { verdict } = script
    script.onSeen()
    await atWait()
    return verdict
  },
  senderOf: async () => undefined,
  async head() {
    await atWait()
    return script.hasHead
      ? { finalNumber: script.finalNumber, latestNumber: script.finalNumber }
      : undefined
  },
  transfersTo: async (_: string, { from, to }: { from: number; to: number }) =>
    script.transfers.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to),
  check: async () => script.faults,
})

const fakeFacilitator = (
  script: Script,
  calls: { payloads: string[]; traces: (string | undefined)[] },
  atWait: () => Promise<void>,
) => ({
  name: 'scripted',
  settle: async (payload: string, _: unknown, trace?: string) => {
    calls.payloads.push(payload)
    calls.traces.push(trace)
    await atWait()
    await script.onSettle()
    await atWait()
    return script.result
  },
  supported: async () =>
    script.kinds === undefined ? { kinds: undefined, ...script.fault } : { kinds: script.kinds },
})

export const seconds = (ms: number) => String(Math.floor(ms / 1000))

/** What a wallet makes of an offer of USDC. */
export const payWithUsdc = (
  { requirements, createdMs }: Pick<Offer, 'requirements' | 'createdMs' | 'payer'>,
  change: object = {},
  nonce = 1,
) => ({
  x402Version: 2,
  resource: { url: 'https://feed.example/v1/billing/x402/settle' },
  accepted: requirements,
  payload: {
    signature: SIGNATURE,
    authorization: {
      from: PAYER,
      to: requirements.payTo,
      value: requirements.amount,
      validAfter: '0',
      validBefore: seconds(createdMs + 600_000),
      nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
      ...change,
    },
  },
})

/** What a wallet makes of an offer of USDT. */
export const payWithUsdt = ({ requirements, createdMs }: Offer, change: object = {}) => ({
  x402Version: 2,
  accepted: requirements,
  payload: {
    signature: SIGNATURE,
    permit2Authorization: {
      from: PAYER,
      permitted: { token: requirements.asset, amount: requirements.amount },
      spender: homeChain.permit2Proxy,
      nonce: '77',
      deadline: seconds(createdMs + 600_000),
      witness: { to: requirements.payTo, validAfter: seconds(createdMs - 600_000) },
      ...change,
    },
  },
})

/** What a call came to: the state, or the code of the refusal. */
export async function outcomeOf(call: Promise<{ payment: Payment }>): Promise<string> {
  try {
    return (await call).payment.state
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}

/** The only payment there is. */
export function onlyPayment({ ledger }: World): Payment {
  const [payment] = ledger.payments.listPayments({ limit: 2 })
  if (!payment) throw new Error('There is no payment.')
  return payment
}
