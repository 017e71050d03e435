/**
 * Billing as it is, on a ledger file and a chain of this machine, whose
 * node and time do as they are told.
 */

import type { LittlePolygon, SandboxWallet } from '#dev/sandbox/little-polygon.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc } from '#src/chain/rpc.ts'
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { Offer, Payment } from '#src/domain/selling/payment.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import { createScreener } from '#src/screening/screener.ts'

import { signUsdc, type Wish } from '../chain/signed-payments.ts'
import { createCommandLine } from '../support/command-line.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import { openLedgerIn } from '../support/stores.ts'

const DAY_MS = 86_400_000

/** A node that can be dead: from a question on, or not at all. */
export type MortalNode = {
  url: string
  /** Questions since the last `liveOn`. */
  asked(): number
  /** After this many questions none is answered any more. */
  dieAfter(questions: number): void
  liveOn(): void
  stop(): Promise<void>
}

export function startMortalNode(url: string): MortalNode {
  let asked = 0
  let last = Infinity
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      // A status that nobody would ask again after, so that no test has to wait for that.
      if (++asked > last) return new Response(null, { status: 404 })
      const headers = { 'content-type': 'application/json' }
      return fetch(url, { method: 'POST', headers, body: await request.text() })
    },
  })
  return {
    url: String(server.url),
    asked: () => asked,
    dieAfter: (questions) => {
      asked = 0
      last = questions
    },
    liveOn: () => {
      asked = 0
      last = Infinity
    },
    stop: () => server.stop(true),
  }
}

export type WorldOptions = {
  chain: LittlePolygon
  node: MortalNode
  scripted: ScriptedFacilitator
  confirmations?: 'final' | number
  /** In place of the scripted one. */
  facilitator?: Facilitator | undefined
  /** Address of a PostgreSQL, in place of a file. */
  ledgerPlace?: string
  /** Another server of the same ledger, whose clock it shares. */
  beside?: { time: Time }
}

/** What a restart ends and begins anew. */
async function start(
  { chain, node, scripted, ...options }: WorldOptions,
  ledgerPath: string,
  time: Time,
) {
  const ledger = await openLedgerIn(ledgerPath, { nowMs: time.nowMs })
  const clock = () => time.nowMs
  const rpc = createRpc({ chain: homeChain, url: node.url })
  const payTo = chain.payee.address
  const { confirmations = 'final' } = options
  const quiet = { clock, log: () => {} }
  const { screen } = createScreener({
    ledger,
    oracle: createSanctionsOracle(rpc),
    clock,
    staleAfterMs: DAY_MS,
    isListConfigured: false,
  })
  const billing = createBilling({
    ...quiet,
    ledger,
    listTiers: () => ledger.listTiers(),
    chains: [
      {
        chain: homeChain,
        view: createChainView(rpc, { ...quiet, payTo, confirmations }),
        facilitator:
          options.facilitator ?? createRemoteFacilitator(scripted.url, { timeoutMs: 2000 }),
      },
    ],
    payTo,
    screen,
    createId: () => `m${++time.minted}`,
    async sleep(ms) {
      time.nowMs += ms
      await time.onSleep()
    },
    origin: () => 'https://feed.example',
  })
  return { ledger, billing }
}

type Time = { nowMs: number; minted: number; onSleep: () => void | Promise<void> }

/** Opens the world at the time of the chain. The caller must dispose it. */
export async function openWorld(options: WorldOptions) {
  const { chain } = options
  const line = createCommandLine()
  const { ledgerPlace = line.ledgerPath } = options
  const nowMs = (await chain.time()) * 1000
  const time: Time = options.beside?.time ?? { nowMs, minted: 0, onSleep: () => undefined }
  const world = {
    ...(await start(options, ledgerPlace, time)),
    time,
    line,
    /** As after a kill: nothing is left but the file. */
    async restart() {
      world.ledger.dispose()
      Object.assign(world, await start(options, ledgerPlace, time))
      await world.billing.refresh()
    },
    async caller(accountId: string): Promise<Caller> {
      const by = { actor: 'operator', nowMs: time.nowMs } as const
      await world.ledger.atomically(({ findAccount, createAccount }) => {
        if (!findAccount(accountId)) createAccount({ id: accountId }, by)
      })
      const standing = standingAt(
        world.ledger.listSubscriptions(accountId),
        world.ledger.listTiers(),
        time.nowMs,
      )
      return { keyId: 'key_1', familyId: 'key_1', accountId, isBlocked: false, standing }
    },
    async quote(accountId = 'acc_1', tierId = 'pro'): Promise<Offer> {
      const wish = { tierId, network: 'eip155:137', token: 'USDC' }
      return (await world.billing.quote(await world.caller(accountId), wish)).offer
    },
    /** An offer, signed. */
    async signed(accountId = 'acc_1', wish: Wish = {}, payer: SandboxWallet = chain.payer) {
      const offer = await world.quote(accountId)
      return { offer, ...(await sign(chain, { offer, payer }, wish)) }
    },
    settle: async (payload: unknown, accountId = 'acc_1') =>
      world.billing.settle(await world.caller(accountId), payload),
    payments: () => world.ledger.payments.listPayments({ limit: 100 }),
    states: () => world.payments().map(({ state }) => state),
    subscriptions: (accountId = 'acc_1') => world.ledger.listSubscriptions(accountId),
    received: () => chain.balanceOf('USDC', chain.payee.address),
    dispose() {
      world.ledger.dispose()
      line[Symbol.dispose]()
    },
  }
  await world.billing.refresh()
  return world
}

export type World = Awaited<ReturnType<typeof openWorld>>

/** What a wallet makes of an offer, and the same as anybody may send it to the chain. */
export async function sign(
  chain: LittlePolygon,
  { offer, payer }: { offer: Offer; payer: SandboxWallet },
  wish: Wish = {},
) {
  const { amount, payTo } = offer.requirements
  const own = { amount: BigInt(amount), payTo: payTo.toLowerCase(), payer: payer.address }
  const { signed, signature } = await signUsdc(chain, { ...own, ...wish }, payer.key)
  const authorization = {
    from: signed.payer as `0x${string}`,
    to: signed.payTo as `0x${string}`,
    value: String(signed.amount),
    validAfter: String(signed.validAfter),
    validBefore: String(signed.validBefore),
    nonce: signed.nonce as `0x${string}`,
  }
  const transfer = { authorization, signature }
  return { payload: { x402Version: 2, accepted: offer.requirements, payload: transfer }, transfer }
}

/** What a call came to: the state of the payment, or the code of the refusal. */
export async function outcomeOf(call: Promise<{ payment: Payment }>): Promise<string> {
  try {
    return (await call).payment.state
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}
