/** Two servers that sell from one ledger, on a PostgreSQL, at the same time. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import { usePostgres } from '../support/engines/each.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import { ask, newBuyer, payFor } from '../support/keyless-buyer.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import {
  addCustomer,
  type Customer,
  type Payload,
  stateOf,
  wallClock,
} from '../support/paid-server.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import { asJson } from '../support/signup-client.ts'
import { openLedgerIn } from '../support/stores.ts'
import { type MortalNode, openWorld, startMortalNode, type World } from './recovery-world.ts'

const MS_MAX = 300_000
/** What the thread of a server does: the copy gets what others have written. */
const pulled = (ledger: Ledger): Promise<void> => ledger.probeWrite()
const CALLS = 50
const LEASE_MS = 90_000
const PURCHASES = 8
const TRIES_MAX = 200

/** Tries again, as a supervisor or a client does, where a busy database did not answer in time. */
async function patiently<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (tries === TRIES_MAX || !String(error).includes('Try again')) throw error
    }
  }
}

/** Sends it again, as the answer says, while the other server keeps the ledger for too long. */
async function settleAt(origin: string, { headers }: Customer, paymentPayload: Payload) {
  const request = asJson({ paymentPayload }, headers)
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${origin}/v1/billing/x402/settle`, request)
    const body = (await response.json()) as Record<string, unknown>
    if (response.status !== 503 || tries === TRIES_MAX) return { status: response.status, body }
    await Bun.sleep(100)
  }
}

/** As `settleAt`, of what is paid for without a key. */
async function buyAt(url: string, request: RequestInit) {
  for (let tries = 1; ; tries++) {
    const response = await ask(url, request)
    const body = (await response.json()) as Record<string, unknown>
    const receipt = response.headers.get('payment-response') ?? ''
    if (response.status !== 503 || tries === TRIES_MAX)
      return { status: response.status, body, receipt: receipt && JSON.parse(atob(receipt)) }
    await Bun.sleep(100)
  }
}

describe.skipIf(!hasAnvil || postgresPrograms === undefined)('two servers of one ledger', () => {
  let chain: LittlePolygon
  let node: MortalNode
  let scripted: ScriptedFacilitator
  const { placeOf } = usePostgres()
  let schemas = 0
  useChain(
    ({ keep, ...ground }) => {
      ;({ chain, scripted } = ground)
      node = keep(startMortalNode(chain.url))
    },
    { slotsInAnEpoch: 0 },
  )

  /** `dies`: the first one's last deed is to take a payment for sending; it never sends it. */
  async function openTwo(dies = false): Promise<[World, World]> {
    const ledgerPlace = placeOf(`sold_${++schemas}`)
    const common = { chain, node, scripted, ledgerPlace }
    const settle = () => new Promise<never>(() => {})
    const dead = { ...createRemoteFacilitator(scripted.url), settle }
    const one = await openWorld({ ...common, facilitator: dies ? dead : undefined })
    return [one, await openWorld({ ...common, beside: one })]
  }

  /** Two processes that sell over HTTP from one ledger. */
  async function startServers(
    stack: AsyncDisposableStack,
    ledgerPlace: string,
    more: Record<string, string> = {},
  ): Promise<KillableServer[]> {
    const folder = stack.adopt(mkdtempSync(join(tmpdir(), 'bookfeed-sellers-')), (path) =>
      rmSync(path, { recursive: true, force: true }),
    )
    const servers: KillableServer[] = []
    for (const name of ['one', 'two']) {
      const env = {
        BOOKFEED_DATA: join(folder, name),
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_LEDGER: ledgerPlace,
        BOOKFEED_RPC_URL: chain.url,
        BOOKFEED_PAY_TO: chain.payee.address,
        BOOKFEED_FACILITATOR: scripted.url,
        BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
        ...more,
      }
      const server = await patiently(() => startKillableServer(env))
      servers.push(stack.adopt(server, ({ kill }) => kill()))
    }
    return servers
  }

  /** The money has moved once, for one period, and both see it. */
  async function expectOne([one, two]: [World, World], before: bigint): Promise<void> {
    const [{ signed } = { signed: undefined }] = one.payments()
    expect((await one.received()) - before).toBe(signed?.amount ?? 0n)
    for (const world of [one, two]) {
      await pulled(world.ledger)
      expect(world.states()).toEqual(['provisioned'])
      expect(world.subscriptions()).toHaveLength(1)
      expect([...world.ledger.verifyAudit()]).toEqual([])
      world.dispose()
    }
  }

  test(
    `behavior: ${CALLS} calls with one payment, to both at once, send it once`,
    async () => {
      const worlds = await openTwo()
      const [one, two] = worlds
      const before = await one.received()
      const sent = scripted.settles().length
      const { payload } = await one.signed()
      const call = (number: number) => (number % 2 === 0 ? one : two).settle(payload)
      await Promise.all(Array.from({ length: CALLS }, (_, number) => call(number)))
      for (const world of worlds)
        expect((await world.settle(payload)).payment.state).toBe('provisioned')
      expect(scripted.settles()).toHaveLength(sent + 1)
      await expectOne(worlds, before)
    },
    MS_MAX,
  )

  test(
    `behavior: ${PURCHASES} payments, each sent to both over HTTP at once: the same answer of both`,
    async () => {
      await using stack = new AsyncDisposableStack()
      const ledgerPlace = placeOf(`sold_${++schemas}`)
      const servers = await startServers(stack, ledgerPlace)
      const [{ origin } = { origin: '' }] = servers
      const ledger = stack.use(await openLedgerIn(ledgerPlace, { nowMs: wallClock() }))
      const customer = await addCustomer({ ledger, origin, chain }, { funds: 1_000_000_000n })
      const sent = scripted.settles().length
      const before = await stateOf({ chain, ledger }, customer)
      let price = 0n
      for (let number = 0; number < PURCHASES; number++) {
        const quote = await patiently(() => customer.quote('starter', 'USDC', undefined, true))
        price += BigInt(quote.paymentRequirements.amount)
        const paymentPayload = await customer.sign(quote)
        const [one, two] = await Promise.all(
          servers.map((server) => settleAt(server.origin, customer, paymentPayload)),
        )
        expect(one?.status).toBe(200)
        expect(two).toEqual(one)
      }
      expect(scripted.settles()).toHaveLength(sent + PURCHASES)
      await pulled(ledger)
      expect(await stateOf({ chain, ledger }, customer)).toEqual({
        payer: before.payer - price,
        payee: before.payee + price,
        periods: PURCHASES,
      })
      expect([...ledger.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )

  test.each([
    ['a request', 'GET', '/v1/btc/markets'],
    ['a pack', 'POST', '/v1/billing/packs/pack-1000'],
  ])(
    'behavior: without a key, one payment for %s, sent to both at once, is taken once and answered by both',
    async (_, method, path) => {
      await using stack = new AsyncDisposableStack()
      const ledgerPlace = placeOf(`sold_${++schemas}`)
      const servers = await startServers(stack, ledgerPlace, { BOOKFEED_KEYLESS: 'on' })
      const urls = servers.map(({ origin }) => origin + path)
      const ledger = stack.use(await openLedgerIn(ledgerPlace, { nowMs: wallClock() }))
      const sent = scripted.settles().length
      for (let number = 1; number <= PURCHASES; number++) {
        // Within the hour a wallet buys a pack once without a key.
        const buyer = await newBuyer(chain)
        const headers = await payFor(urls[number % 2] ?? '', buyer, chain, method)
        const answers = await Promise.all(urls.map((url) => buyAt(url, { method, headers })))
        const [one, two] = answers
        expect(one).toMatchObject({ status: 200, receipt: { success: true } })
        expect(two).toMatchObject({ status: 200, receipt: one?.receipt })
        expect(scripted.settles()).toHaveLength(sent + number)
      }
      await pulled(ledger)
      expect(ledger.payments.listPayments({ limit: 100 })).toHaveLength(PURCHASES)
      expect([...ledger.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )

  test(
    'behavior: without a key, of two payments of a wallet for a pack, one to each at once, one is sent',
    async () => {
      await using stack = new AsyncDisposableStack()
      const ledgerPlace = placeOf(`sold_${++schemas}`)
      const servers = await startServers(stack, ledgerPlace, { BOOKFEED_KEYLESS: 'on' })
      const urls = servers.map(({ origin }) => `${origin}/v1/billing/packs/pack-1000`)
      const sent = scripted.settles().length
      for (let number = 1; number <= PURCHASES / 4; number++) {
        const buyer = await newBuyer(chain)
        const answers = await Promise.all(
          urls.map(async (url) => {
            const headers = await payFor(url, buyer, chain, 'POST')
            return buyAt(url, { method: 'POST', headers })
          }),
        )
        const [one, two] = answers
        expect(one).toMatchObject({ status: 200, receipt: { success: true } })
        expect(two).toMatchObject({ status: 200, receipt: one?.receipt })
        expect(scripted.settles()).toHaveLength(sent + number)
      }
    },
    MS_MAX,
  )

  test(
    'behavior: when one dies that was about to send, the other sends after the lease, and once',
    async () => {
      const worlds = await openTwo(true)
      const [one, two] = worlds
      const before = await one.received()
      const sent = scripted.settles().length
      const { payload } = await one.signed()
      void one.settle(payload)
      for (let looks = 0; !two.states().includes('settling') && looks < 1000; looks++) {
        await Bun.sleep(10)
        await pulled(two.ledger)
      }
      await two.billing.reconcile()
      expect([two.states(), scripted.settles().length]).toEqual([['settling'], sent])
      two.time.nowMs += LEASE_MS + 1
      await two.billing.reconcile()
      expect(scripted.settles()).toHaveLength(sent + 1)
      await expectOne(worlds, before)
    },
    MS_MAX,
  )
})
