/** A selling server in a separate process on a local chain, with every fault around it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { UNCHECKED } from '#src/billing/availability.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import type { TokenSymbol } from '#src/domain/selling/payment-chain.ts'

import { type Draft, permit2Proxy, signUsdc, signUsdt } from '../chain/signed-payments.ts'
import { type Gate, startGate } from './gate.ts'
import { addKey } from './harness.ts'
import { type KillableServer, startKillableServer } from './killable-server.ts'
import { type Payload, type QuoteAnswer, toAuthorization, wallClock } from './paid-server.ts'
import { findBrokenInvariants, type GivenAnswer, readPayment } from './payment-invariants.ts'
import { type ScriptedFacilitator, startScriptedFacilitator } from './scripted-facilitator.ts'
import { asJson } from './signup-client.ts'
import { openLedgerIn } from './stores.ts'

export const SETTLE = '/v1/billing/x402/settle'
/** Long enough to be accepted and sent; afterwards the chain's clock is moved. */
const VALID_SECONDS = 90
const OFFER_PAUSE_MS = 100
/** A server starts in half of this on a loaded machine. */
const WAIT_MS_MAX = 120_000
const FUNDS = 10n ** 15n

export type Customer = { key: string; wallet: { key: `0x${string}`; address: string } }
/** A payment that was signed for an offer. */
export type Signed = Customer & {
  payload: Payload
  payer: string
  nonce: string
  validBefore: number
}
export type Settled = { status: number; body: Record<string, unknown> }

export type CrashWorld = {
  chain: LittlePolygon
  facilitator: ScriptedFacilitator
  /** Gates between the server and the node, and between the server and the facilitator. */
  rpcGate: Gate
  facilitatorGate: Gate
  server(): KillableServer
  restart(): Promise<void>
  /** While true, all mined blocks are final whenever the server looks. */
  setMoving(isMoving: boolean): void
  /** Moves the clock of the chain past the end of a payment, so that it is finally decided. */
  endTime(signed: Signed): Promise<void>
  /** An account with a key; it pays from the wallet of the chain, or from its own (USDC only). */
  addCustomer(options?: { hasOwnWallet?: boolean }): Promise<Customer>
  buy(customer: Customer, wish: { tier: string; token: TokenSymbol }): Promise<Signed>
  /** Submits a payment and notes the response; undefined if the server is gone. */
  settle(signed: Signed): Promise<Settled | undefined>
  get(customer: Customer, path: string): Promise<Settled>
  find(signed: Signed): ReturnType<typeof readPayment>
  /** Runs SQL on the file of the ledger, from outside. */
  meddle(sql: string): void
  /** Broken invariants of the ledger, or of a copy of it. */
  brokenInvariants(ledgerPath?: string): Promise<string[]>
  /** Copies the current ledger and runs SQL on the copy; returns its path. */
  forge(sql: string): string
  stop(): Promise<void>
}

/** Fails, with the name of the work, if the work takes too long. */
export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`Too late: ${what}`)), WAIT_MS_MAX)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

export async function startCrashWorld(): Promise<CrashWorld> {
  const chain = await startLittlePolygon()
  const { url: rpcUrl, facilitator: gas, payee, payer } = chain
  await chain.mintUsdc(payer.address, FUNDS)
  await chain.mintUsdt(payer.address, FUNDS)
  await chain.approvePermit2(payer.key)
  const facilitator = await startScriptedFacilitator({ rpcUrl, key: gas.key })
  const rpcGate = await startGate(rpcUrl)
  const facilitatorGate = await startGate(facilitator.url)
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-crash-'))
  const ledgerPath = join(folder, 'ledger.db')
  const env = {
    BOOKFEED_DATA: folder,
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_RPC_URL: rpcGate.url,
    BOOKFEED_FACILITATOR: facilitatorGate.url,
    BOOKFEED_PAY_TO: payee.address,
  }
  let isMoving = false
  rpcGate.onQuestion(async (text) => {
    if (isMoving && text.includes('"finalized"')) await chain.finalize()
  })
  let server = await startKillableServer(env)
  const ground: Ground = { chain, ledgerPath, server: () => server }

  return {
    chain,
    facilitator,
    rpcGate,
    facilitatorGate,
    ...createBuyers(ground),
    ...createFile(ground, folder),
    server: () => server,
    async restart() {
      await server.kill()
      server = await within('a start of the server', startKillableServer(env))
    },
    setMoving: (next) => {
      isMoving = next
    },
    async endTime({ validBefore }) {
      if ((await chain.time()) <= validBefore) await chain.setTime(validBefore + 1)
      await chain.finalize()
    },
    async stop() {
      await server.kill()
      await Promise.all([rpcGate.stop(), facilitatorGate.stop()])
      await facilitator.stop()
      await chain.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

type Ground = {
  chain: LittlePolygon
  ledgerPath: string
  server: () => KillableServer
}

/** Creates the actions of customers. */
function createBuyers({ chain, ledgerPath, server }: Ground) {
  const answers: GivenAnswer[] = []
  const evidence = { rpcUrl: chain.url, payTo: chain.payee.address, answers }
  return {
    async addCustomer({ hasOwnWallet = false } = {}) {
      const secret = generatePrivateKey()
      const own = { key: secret, address: privateKeyToAccount(secret).address }
      if (hasOwnWallet) await chain.mintUsdc(own.address, FUNDS)
      const ledger = await openLedgerIn(ledgerPath, { nowMs: wallClock() })
      try {
        // The highest tier, for its allowance of calls; a grant is not a paid period.
        return { key: addKey(ledger, 'enterprise'), wallet: hasOwnWallet ? own : chain.payer }
      } finally {
        ledger.dispose()
      }
    },
    async buy(customer, { tier, token }) {
      const wish = { tierId: tier, token, network: chain.network, anotherPeriod: true }
      const askOffer = () => ask(server(), customer, { path: QUOTE, body: wish })
      let { status, body } = await askOffer()
      // A server that has just started may still be checking its tokens.
      const isChecking = () => String(body.detail).includes(UNCHECKED)
      while (isChecking()) {
        await Bun.sleep(OFFER_PAUSE_MS)
        ;({ status, body } = await askOffer())
      }
      if (status !== 200) throw new Error(`No offer: ${JSON.stringify(body)}`)
      return sign(chain, customer, { quote: body as QuoteAnswer, token })
    },
    async settle(signed) {
      const body = { paymentPayload: signed.payload }
      const answer = await ask(server(), signed, { path: SETTLE, body }).catch(() => undefined)
      const { payer, nonce } = signed
      if (answer !== undefined) answers.push({ payer, nonce, status: answer.status })
      return answer
    },
    get: (customer, path) => ask(server(), customer, { path }),
    brokenInvariants: (path = ledgerPath) =>
      findBrokenInvariants({ ...evidence, ledgerPath: path }),
  } satisfies Partial<CrashWorld>
}

/** Changes to the file without the server. */
function createFile({ ledgerPath }: Ground, folder: string) {
  let count = 0
  return {
    find: ({ nonce }) => readPayment(ledgerPath, nonce),
    meddle: (sql) => runOn(ledgerPath, sql),
    forge(sql) {
      count += 1
      const copy = join(folder, `forged-${count}.db`)
      runOn(ledgerPath, `VACUUM INTO '${copy}'`)
      runOn(copy, sql)
      return copy
    },
  } satisfies Partial<CrashWorld>
}

const QUOTE = '/v1/billing/x402/quote'

function runOn(path: string, sql: string): void {
  const db = openDatabase(path, { format: ledgerFormat })
  try {
    db.run(sql)
  } finally {
    db.close()
  }
}

async function ask(
  { origin }: KillableServer,
  { key }: Customer,
  { path, body }: { path: string; body?: unknown },
): Promise<Settled> {
  const headers = { authorization: `Bearer ${key}` }
  const init = body === undefined ? { headers } : asJson(body, headers)
  const response = await fetch(origin + path, { ...init, signal: AbortSignal.timeout(WAIT_MS_MAX) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Uses the clock of the chain, which is ahead of ours after its time was moved. */
async function sign(
  chain: LittlePolygon,
  customer: Customer,
  { quote, token }: { quote: QuoteAnswer; token: TokenSymbol },
): Promise<Signed> {
  const { paymentRequirements: accepted } = quote
  await chain.mine()
  const validBefore = (await chain.time()) + VALID_SECONDS
  const payer = customer.wallet.address.toLowerCase()
  const wish = { payer, amount: BigInt(accepted.amount), validBefore: BigInt(validBefore) }
  const draft =
    token === 'USDC'
      ? await signUsdc(chain, wish, customer.wallet.key)
      : await signUsdt(chain, wish)
  const payload = token === 'USDC' ? toAuthorization(draft) : toPermit(draft)
  const { nonce } = draft.signed
  const payment = { x402Version: 2, accepted, payload }
  return { ...customer, payload: payment, payer, nonce, validBefore }
}

/** A signed payment in USDT in its wire format. */
const toPermit = ({ signed, signature }: Draft) => ({
  signature,
  permit2Authorization: {
    from: signed.payer,
    permitted: { token: signed.asset, amount: String(signed.amount) },
    spender: permit2Proxy,
    nonce: signed.nonce,
    deadline: String(signed.validBefore),
    witness: { to: signed.payTo, validAfter: String(signed.validAfter) },
  },
})
