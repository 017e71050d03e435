/**
 * Every program that buys a tier, killed before it hears what became of its payment, and run again:
 * money moves once. Only the chain is asked how much.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { renderBuyScript } from '#dev/sandbox/buy-script.ts'
import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import {
  addCustomer,
  type Customer,
  type PaidServer,
  startPaidServer,
} from '../support/paid-server.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'

const PRICE = 49_000_000n
const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-lost-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

type Run = { origin: string; customer: Customer; more?: 'another period' }

/** The program of the documentation, for another server. */
function documented(origin: string): string {
  const text = readFileSync(join(root, 'docs/payments.md'), 'utf8')
  const [, block = ''] = /## With the stock client[\s\S]*?```ts\n([\s\S]*?)```/.exec(text) ?? []
  return block.replace("'https://books.example.com'", JSON.stringify(origin))
}

const client = join(root, 'clients/typescript/src/client.ts')
/** Buys with our client and a wallet of the stock client. */
const clientScript = (origin: string, more: boolean) => `
import { Bookfeed } from ${JSON.stringify(client)}
import { x402Client } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'
const wallet = privateKeyToAccount(process.env.WALLET_KEY)
const signer = new x402Client().register('eip155:137', new ExactEvmScheme(wallet))
signer.setSpendControls({ maxAmountPerPayment: '$50' })
const feed = new Bookfeed({ server: ${JSON.stringify(origin)}, key: process.env.KEY })
const order = { tierId: 'pro', network: 'eip155:137', token: 'USDC', maxAmount: 49_000_000n, anotherPeriod: ${more} }
const payment = await feed.pay(signer, order)
if (payment.status !== 'active') process.exit(1)
`

const programs: Record<string, (run: Run) => string[]> = {
  'the program of the documentation': ({ origin }) => [write('documented.ts', documented(origin))],
  'examples/typescript/buy-tier.ts': () => ['examples/typescript/buy-tier.ts', 'pro'],
  'bookfeed pay': ({ origin, customer, more }) => [
    'src/main.ts',
    'pay',
    '--server',
    origin,
    '--tier',
    'pro',
    '--yes',
    '--key-file',
    write('wallet.key', customer.wallet.key),
    '--api-key-file',
    write('api.key', customer.key),
    ...(more ? ['--another-period'] : []),
  ],
  'the TypeScript client': ({ origin, more }) => [
    write('client.ts', clientScript(origin, more !== undefined)),
  ],
  'the script of the sandbox': ({ origin, customer }) => [
    write(
      'buy.ts',
      renderBuyScript({ origin, apiKey: customer.key, privateKey: customer.wallet.key }),
    ),
  ],
}
/** Those with a way to say that a second period is meant. */
const canBuyMore = ['examples/typescript/buy-tier.ts', 'bookfeed pay', 'the TypeScript client']

describe.skipIf(!hasAnvil)('a program that dies after it has paid, and is run again', () => {
  let chain: LittlePolygon
  let relay: ScriptedFacilitator
  let server: PaidServer
  let door: ReturnType<typeof startDoor>
  useChain(async ({ keep, ...ground }) => {
    ;({ chain, scripted: relay } = ground)
    server = keep(await startPaidServer({ chain, facilitator: createRemoteFacilitator(relay.url) }))
    door = startDoor(server.origin)
    keep({ stop: () => door.stop() })
  })

  function start(name: string, run: Run) {
    const { customer, more } = run
    const command = programs[name]?.(run) ?? []
    return Bun.spawn([process.execPath, ...command], {
      cwd: root,
      stdout: 'pipe',
      stderr: 'pipe',
      env: {
        NODE_PATH: join(root, 'node_modules'),
        SERVER: run.origin,
        KEY: customer.key,
        WALLET_KEY: customer.wallet.key,
        ANOTHER_PERIOD: more ? '1' : '0',
      },
    })
  }

  async function finish(child: ReturnType<typeof start>) {
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    return { exitCode: await child.exited, output, errors }
  }

  /** Kills a program once the server has answered its payment, which it never hears. */
  async function loseAnswer(name: string, customer: Customer): Promise<void> {
    const answered = door.loseNext()
    const child = start(name, { origin: door.origin, customer })
    await Promise.race([
      answered,
      finish(child).then(({ errors }) => {
        throw new Error(`It ended by itself: ${errors}`)
      }),
    ])
    child.kill('SIGKILL')
    await child.exited
  }

  const paidBy = async ({ wallet }: Customer) =>
    100_000_000n - (await chain.balanceOf('USDC', wallet.address))

  for (const name of Object.keys(programs)) {
    test(`behavior: ${name} pays once, whether the payment was made or is undecided`, async () => {
      const made = await addCustomer(server)
      await loseAnswer(name, made)
      expect(await paidBy(made)).toBe(PRICE)
      const again = await finish(start(name, { origin: server.origin, customer: made }))
      expect([again.errors.includes('rror'), again.exitCode]).toEqual([false, 0])
      expect(await paidBy(made)).toBe(PRICE)

      const undecided = await addCustomer(server)
      relay.next('cut-before')
      await loseAnswer(name, undecided)
      expect(await paidBy(undecided)).toBe(0n)
      // By then the server sends the same payment again.
      server.time.skewMs += 16_000
      const after = await finish(start(name, { origin: server.origin, customer: undecided }))
      expect([after.errors, after.exitCode]).toEqual([expect.any(String), 0])
      expect(await paidBy(undecided)).toBe(PRICE)
      const { payments } = server.ledger
      expect(payments.listPayments({ accountId: undecided.accountId, limit: 9 })).toHaveLength(1)
      if (!canBuyMore.includes(name)) return
      const run = { origin: server.origin, customer: undecided, more: 'another period' } as const
      const next = await finish(start(name, run))
      expect([next.errors, next.exitCode]).toEqual([expect.any(String), 0])
      expect(await paidBy(undecided)).toBe(2n * PRICE)
    }, 300_000)
  }
})

/** Passes everything on, but for an answer that it is told to lose. */
function startDoor(target: string) {
  let lose: (() => void) | undefined
  const door = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 120,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const body = request.method === 'GET' ? undefined : await request.text()
      const headers = new Headers(request.headers)
      const isPayment = headers.has('payment-signature') || body?.includes('paymentPayload')
      const answer = await fetch(target + pathname + search, {
        method: request.method,
        headers,
        ...(body === undefined ? {} : { body }),
      })
      if (isPayment && lose) {
        lose()
        lose = undefined
        await new Promise(() => undefined)
      }
      const answered = new Headers(answer.headers)
      answered.delete('content-encoding')
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answered })
    },
  })
  return {
    origin: door.url.origin,
    /** Resolves when the next payment was answered; the answer goes nowhere. */
    loseNext: () =>
      new Promise<void>((resolve) => {
        lose = resolve
      }),
    stop: () => door.stop(true),
  }
}
