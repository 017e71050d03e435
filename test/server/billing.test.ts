import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import type { SalesState } from '#src/billing/billing.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import { createShop, describeBilling, startBillingJobs } from '#src/server/billing.ts'
import { createNodes } from '#src/server/nodes.ts'

import { by } from '../ledger/ledger-records.ts'
import { aTransfer, claimUpTo } from '../ledger/payment-records.ts'
import { createCliContext } from '../support/cli-context.ts'
import { createFakeTimers } from '../support/fake-timers.ts'
import { clearOf, NOW_MS } from '../support/harness.ts'
import { until } from '../support/until.ts'

const whole = {
  BOOKFEED_PAY_TO: `0x${'1'.repeat(40)}`,
  BOOKFEED_FACILITATOR: 'https://facilitator.example',
  // Nobody listens there, and nobody is asked before `start`.
  BOOKFEED_RPC_URL: 'http://127.0.0.1:9',
}

function createSale(env: Record<string, string>) {
  const { context } = createCliContext(env)
  const ledger = openLedger(':memory:', { nowMs: NOW_MS })
  const screen = async (address: string) => clearOf(address, NOW_MS)
  return createShop(
    context,
    ledger,
    { screen, origin: () => 'http://127.0.0.1:3000' },
    createNodes(context),
  )
}

describe('createShop', () => {
  test('default: with everything that it needs it sells, once it was checked', () => {
    const sale = createSale(whole)
    expect(sale.closedReason).toBeUndefined()
    expect(describeBilling(sale)).toBe(
      'Payments: Polygon is not checked yet (GET /v1/billing/x402/chains says when).',
    )
  })

  test('default: each chain with a node is sold on, and no other', () => {
    const nodes = (url: string) =>
      createSale({ ...whole, BOOKFEED_RPC_URL: url })
        .billing.chains()
        .map(({ chain }) => chain.network)
    expect(nodes('http://127.0.0.1:9/a,b')).toEqual(['eip155:137'])
    expect(nodes('eip155:8453=http://127.0.0.1:9')).toEqual(['eip155:8453'])
    expect(nodes('http://127.0.0.1:9, eip155:8453=http://127.0.0.1:8')).toEqual([
      'eip155:137',
      'eip155:8453',
    ])
    // In the order of the variable, in which offers are made.
    expect(nodes('eip155:8453=http://127.0.0.1:8,eip155:137=http://127.0.0.1:9')).toEqual([
      'eip155:8453',
      'eip155:137',
    ])
  })

  test.each([
    [{}, 'BOOKFEED_PAY_TO, BOOKFEED_FACILITATOR and BOOKFEED_RPC_URL are not set.'],
    [{ ...whole, BOOKFEED_PAY_TO: '' }, 'BOOKFEED_PAY_TO is not set.'],
    [{ ...whole, BOOKFEED_RPC_URL: '' }, 'BOOKFEED_RPC_URL is not set.'],
    [{ ...whole, BOOKFEED_FACILITATOR: 'local' }, 'BOOKFEED_GAS_KEY is not set.'],
  ])('behavior: what is missing is named, and nothing begins: %p', (env, reason) => {
    const sale = createSale(env)
    expect(sale.closedReason).toBe(reason)
    expect(describeBilling(sale)).toBe(`Nothing is sold: ${reason}`)
    expect(sale.billing.chains()[0]?.tokens[0]?.reason).toBe(reason)
    expect(sale.start()).toBeUndefined()
  })

  test('behavior: warns at start of money that may be that of another server with the same address', async () => {
    const { context, errors } = createCliContext(whole)
    const ledger = openLedger(':memory:', { nowMs: NOW_MS })
    await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())
    const screen = async (address: string) => clearOf(address, NOW_MS)
    const jobs = createShop(
      context,
      ledger,
      { screen, origin: () => '' },
      createNodes(context),
    ).start()
    expect(errors.join()).toContain('1 transfer to BOOKFEED_PAY_TO belongs to no payment')
    await jobs?.dispose()
  })

  test('behavior: with payments from before it still looks for them, though nothing is sold', async () => {
    const env = { ...whole, BOOKFEED_FACILITATOR: '' }
    const { context } = createCliContext(env)
    const ledger = openLedger(':memory:', { nowMs: NOW_MS })
    await claimUpTo(ledger, 1, { state: 'pending' })
    const screen = async (address: string) => clearOf(address, NOW_MS)
    const sale = createShop(context, ledger, { screen, origin: () => '' }, createNodes(context))
    expect(describeBilling(sale)).toBe('Nothing is sold: BOOKFEED_FACILITATOR is not set.')
    const jobs = sale.start()
    expect(jobs).toBeDefined()
    await jobs?.dispose()
  })

  test.each([`0x${'0'.repeat(40)}`, '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'])(
    'error: %s is nobody who can be paid',
    (address) => {
      expect(() => createSale({ ...whole, BOOKFEED_PAY_TO: address })).toThrow(/^BOOKFEED_PAY_TO/)
    },
  )

  const payee = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'

  test.each([payee, payee.toLowerCase()])('behavior: %s can be paid', (address) => {
    expect(() => createSale({ ...whole, BOOKFEED_PAY_TO: address })).not.toThrow()
  })

  test.each([
    [payee.replace('93b', '93B'), payee],
    [payee.toUpperCase().replace('0X', '0x'), payee],
    [payee.replace(/6$/, '7'), '0x90f79bf6eb2c4f870365e785982e1F101E93B907'],
  ])('error: %s has a wrong checksum, and %s a right one', (address, right) => {
    expect(() => createSale({ ...whole, BOOKFEED_PAY_TO: address })).toThrow(
      `BOOKFEED_PAY_TO is ${address}, whose capital letters are not its EIP-55 checksum, so a character may be mistyped. If all characters are right, write the address as ${right}.`,
    )
  })

  test('error: half of a facilitator key', () => {
    const env = { ...whole, BOOKFEED_FACILITATOR_KEY_ID: 'id' }
    expect(() => createSale(env)).toThrow(/KEY_ID and BOOKFEED_FACILITATOR_KEY_SECRET/)
  })

  test('error: a gas key that is none, without showing it', () => {
    const env = { ...whole, BOOKFEED_FACILITATOR: 'local', BOOKFEED_GAS_KEY: `0x${'0'.repeat(64)}` }
    expect(() => createSale(env)).toThrow(/^BOOKFEED_GAS_KEY must hold a private key/)
  })

  test('behavior: neither viem nor x402 is loaded to put it together', async () => {
    const code = `
      await import('./src/server/serve.ts')
      const loaded = Object.keys(require.cache)
      const ours = loaded.filter((path) => /node_modules\\/(viem|@x402)\\//.test(path))
      process.stdout.write(ours.length + ' ' + loaded.length)`
    const root = join(import.meta.dir, '../..')
    const child = Bun.spawn([process.execPath, '-e', code], { cwd: root, stdout: 'pipe' })
    const [chainCode, all] = (await new Response(child.stdout).text()).trim().split(' ').map(Number)
    expect(chainCode).toBe(0)
    expect(all).toBeGreaterThan(50)
  })
})

/** Billing that only counts what is asked of it. */
function countingBilling() {
  const calls = { refresh: 0, reconcile: 0, watch: 0 }
  const state = {
    open: 0,
    isBroken: false,
    sales: 'open' as SalesState['state'],
    handIn: () => {},
  }
  const billing = {
    async refresh() {
      calls.refresh++
    },
    async reconcile() {
      calls.reconcile++
      if (state.isBroken) throw new Error('disk full')
      return state.open
    },
    async watch() {
      calls.watch++
    },
    sales: () => ({ state: state.sales, sinceMs: undefined, faults: [] }),
    onSubmitted(listener: () => void) {
      state.handIn = listener
    },
  }
  return { billing, calls, state }
}

describe('startBillingJobs', () => {
  test('default: all begins at once, and is repeated each minute', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, calls } = countingBilling()
    const jobs = startBillingJobs(billing, { startTimer: timers.startTimer, log: () => {} })
    await jobs.checked
    await until(() => timers.delays().length === 3)
    expect(calls).toEqual({ refresh: 1, reconcile: 1, watch: 1 })
    expect(timers.delays()).toEqual([60_000, 60_000, 60_000])
    timers.advance(60_000)
    await until(() => timers.delays().length === 3)
    expect(calls).toEqual({ refresh: 2, reconcile: 2, watch: 2 })
    await jobs.dispose()
    expect(timers.delays()).toEqual([])
  })

  test('behavior: sales that failed once are checked again before buyers are told that they are paused', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, calls, state } = countingBilling()
    state.sales = 'failing'
    const jobs = startBillingJobs(billing, { startTimer: timers.startTimer, log: () => {} })
    await until(() => timers.delays().length === 3)
    state.sales = 'paused'
    timers.advance(10_000)
    await until(() => timers.delays().length === 3)
    expect(calls).toEqual({ refresh: 2, reconcile: 1, watch: 1 })
    expect(timers.delays()).toEqual([50_000, 50_000, 60_000])
    await jobs.dispose()
  })

  test('behavior: the board of jobs says how many payments are open, and when it looks again', async () => {
    const { startTimer, delays } = createFakeTimers(NOW_MS)
    const { billing, state } = countingBilling()
    state.open = 2
    const board = createJobBoard(() => NOW_MS)
    const report = { job: board.add('reconciliation', 'Looks.'), clock: () => NOW_MS }
    const jobs = startBillingJobs(billing, { startTimer, log: () => {}, report })
    await until(() => delays().length === 3)
    expect(board.list()).toMatchObject([
      { isRunning: false, outcome: '2 payments are not decided yet.', nextMs: NOW_MS + 2_000 },
    ])
    await jobs.dispose()
  })

  test('behavior: a payment that is submitted wakes an idle server; then it looks ever more seldom', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, state, calls } = countingBilling()
    const jobs = startBillingJobs(billing, { startTimer: timers.startTimer, log: () => {} })
    await until(() => timers.delays().length === 3)
    timers.advance(20_000)
    state.open = 1
    state.handIn()
    const looks: number[] = []
    for (let second = 1; second <= 60; second++) {
      const before = calls.reconcile
      timers.advance(1000)
      await until(() => timers.delays().length === 3)
      if (calls.reconcile > before) looks.push(second)
    }
    expect(looks).toEqual([2, 4, 7, 12, 19, 30, 46])
    await jobs.dispose()
  })

  test('behavior: what is submitted during a look gets one soon after', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, state, calls } = countingBilling()
    const look = Promise.withResolvers<number>()
    billing.reconcile = () => (calls.reconcile++ === 0 ? look.promise : Promise.resolve(0))
    const jobs = startBillingJobs(billing, { startTimer: timers.startTimer, log: () => {} })
    state.handIn()
    look.resolve(0)
    await until(() => timers.delays().length === 3)
    expect(timers.delays()[0]).toBe(2000)
    await jobs.dispose()
    state.handIn()
    expect(timers.delays()).toEqual([])
  })

  test('behavior: what another server does is left to it, and looked at again soon', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, calls } = countingBilling()
    let isOurs = false
    const turn = { take: async () => isOurs, give: async () => {} }
    const turns = { reconcile: turn, watch: turn }
    const jobs = startBillingJobs(billing, { ...timers, log: () => {}, turns })
    await until(() => timers.delays().length === 3)
    // Whether it can sell, each server has to know.
    expect(calls).toEqual({ refresh: 1, reconcile: 0, watch: 0 })
    expect(timers.delays()).toEqual([2000, 15_000, 60_000])
    isOurs = true
    timers.advance(15_000)
    await until(() => timers.delays().length === 3)
    expect(calls).toEqual({ refresh: 1, reconcile: 1, watch: 1 })
    await jobs.dispose()
  })

  test('error: a look that fails is told, and is not the last one', async () => {
    const timers = createFakeTimers(NOW_MS)
    const { billing, state, calls } = countingBilling()
    state.isBroken = true
    const lines: string[] = []
    const log = (line: string) => void lines.push(line)
    const jobs = startBillingJobs(billing, { startTimer: timers.startTimer, log })
    await until(() => timers.delays().length === 3)
    expect(lines).toEqual(['Billing failed: disk full.'])
    timers.advance(60_000)
    await until(() => calls.reconcile === 2)
    await jobs.dispose()
  })
})
