import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasAnvil } from '#dev/sandbox/anvil.ts'
import { createPayer } from '#src/chain/payer.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { pay, type PayFlags } from '#src/cli/pay.ts'

import { createCliContext } from '../support/cli-context.ts'
import { NOW_MS } from '../support/harness.ts'

const main = join(import.meta.dir, '../../src/main.ts')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-pay-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Writes a secret so that only its owner can read it. */
function writeSecret(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, `${text}\n`, { mode: 0o600 })
  return path
}

const keyFile = writeSecret('wallet.key', `0x${'7'.repeat(64)}`)
const apiKeyFile = writeSecret('api.key', 'bf_live_some')

const USDC = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'
const quote = {
  quoteId: 'quote_1',
  expiresAt: '2026-01-02T03:14:05.678Z',
  paymentRequirements: {
    scheme: 'exact',
    network: 'eip155:137',
    asset: USDC,
    amount: '48999999',
    payTo: `0x${'1'.repeat(40)}`,
    maxTimeoutSeconds: 600,
    extra: { name: 'USD Coin', version: '2' },
  },
}
const poll = '/v1/billing/x402/payments/pay_1'
const pending = {
  status: 'pending',
  paymentState: 'unknown',
  retryAction: 'poll',
  pollUrl: poll,
}
const active = {
  status: 'active',
  subscription: { tierId: 'pro', endsAt: '2026-02-01T03:04:05.678Z' },
  settlement: { paymentId: 'pay_1', transaction: '0xabc', amountUsd: '48.999999', payer: '0x1' },
}

/** What routes say that only read: the command may ask them at any time. */
const catalogue: Record<string, unknown> = {
  '/v1/billing/tiers': [
    { tierId: 'free', isForSale: false, priceUsdc: null, periodDays: null, contact: null },
    { tierId: 'pro', isForSale: true, priceUsdc: '49', periodDays: 30, contact: null },
  ],
  '/v1/billing/x402/chains': [
    {
      network: 'eip155:137',
      tokens: [
        { symbol: 'USDC', enabled: true, reason: null },
        { symbol: 'USDT', enabled: false, reason: 'The proxy is not there.' },
      ],
    },
  ],
}
const noPeriod = { tier: { id: 'free' }, current: null, upcoming: [], free: true }

type Step = [status: number, body: unknown] | 'lost'
const flags: PayFlags = {
  server: new URL('http://127.0.0.1:1'),
  keyFile,
  apiKeyFile,
  tier: 'pro',
  network: 'eip155:137',
  token: 'USDC',
  max: 100_000_000,
  yes: true,
}

/** Pays a server that answers with these steps in turn. */
async function payScripted(
  steps: readonly Step[],
  changes: Partial<PayFlags> = {},
  subscription: unknown = noPeriod,
) {
  const { context, printed, errors } = createCliContext()
  const reads: { path: string; method: string | undefined; isSigned: boolean }[] = []
  const requests: { path: string; body: string; redirect: string | undefined }[] = []
  const waits: number[] = []
  const world = {
    async fetch(url: string, { body, redirect, method, headers }: RequestInit) {
      const { pathname } = new URL(url)
      const read = pathname === '/v1/billing/subscription' ? subscription : catalogue[pathname]
      if (read !== undefined) {
        reads.push({ path: pathname, method, isSigned: new Headers(headers).has('authorization') })
        return Response.json(read)
      }
      const step = steps[requests.length] ?? 'lost'
      requests.push({ path: new URL(url).pathname, body: String(body ?? ''), redirect })
      if (step === 'lost') throw new Error('connection lost')
      return Response.json(step[1], { status: step[0], headers: { 'retry-after': '2' } })
    },
    sleep: async (ms: number) => void waits.push(ms),
  }
  const failure = await pay(context, { ...flags, ...changes }, world).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  return { printed, errors, reads, requests, waits, failure }
}

describe('pay', () => {
  test('default: quotes, signs, settles and prints the receipt', async () => {
    const { errors, requests, failure } = await payScripted([
      [200, quote],
      [200, active],
    ])
    expect(failure).toBeUndefined()
    expect(requests.map(({ path }) => path)).toEqual([
      '/v1/billing/x402/quote',
      '/v1/billing/x402/settle',
    ])
    const { paymentPayload } = JSON.parse(requests[1]?.body ?? '{}')
    expect(paymentPayload.payload.authorization).toMatchObject({ value: '48999999' })
    expect(errors.join('\n')).toContain('48.999999 USDC on Polygon')
    expect(errors.join('\n')).toContain('transaction 0xabc')
    expect(JSON.stringify([errors, requests])).not.toContain('7'.repeat(64))
  })

  test('behavior: pays on the chain that is named, and is quoted on no other', async () => {
    const network = 'eip155:8453'
    const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    const paymentRequirements = { ...quote.paymentRequirements, network, asset }
    const onBase = { ...quote, paymentRequirements }
    const steps: Step[] = [
      [200, onBase],
      [200, active],
    ]
    const { errors, requests, failure } = await payScripted(steps, { network })
    expect(failure).toBeUndefined()
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ network })
    expect(errors.join('\n')).toContain('48.999999 USDC on Base')
    const other = await payScripted([[200, quote]], { network })
    expect(other.failure).toContain('another token than USDC on Base')
    expect(other.requests).toHaveLength(1)
  })

  test.each([undefined, apiKeyFile])(
    'behavior: without --yes only the catalogue is read, with the key file %p',
    async (path) => {
      const changes = { yes: undefined, apiKeyFile: path }
      const { errors, printed, reads, requests, failure } = await payScripted([], changes)
      expect([failure, requests, printed]).toEqual([undefined, [], []])
      expect(reads).toEqual(
        ['/v1/billing/tiers', '/v1/billing/x402/chains'].map((route) => ({
          path: route,
          method: 'GET',
          isSigned: false,
        })),
      )
      expect(errors.join('\n')).toContain('49 USDC on Polygon')
      expect(errors.at(-1)).toBe('Nothing was signed, and nothing was changed. Add --yes to pay.')
    },
  )

  test.each([
    ['gold', 'USDC', {}, 'The server has no tier gold. Its tiers are free, pro.'],
    ['free', 'USDC', {}, 'The server does not sell the tier free.'],
    ['pro', 'USDT', {}, 'USDT on Polygon: The proxy is not there.'],
    ['pro', 'USDC', { max: 48_000_000 }, 'more than --max 48'],
  ])('error: %s in %s cannot be bought, with %p', async (tier, token, more, message) => {
    for (const yes of [undefined, true] as const) {
      const changes = { tier, token, yes, apiKeyFile: undefined, ...more }
      const { failure, requests } = await payScripted([], changes)
      expect(failure).toContain(message)
      // No key is made for what cannot be bought.
      expect(requests).toEqual([])
    }
  })

  const inFlight = { paymentId: 'pay_1', paymentState: 'unknown', pollUrl: poll }
  test('behavior: with a payment in flight nothing is signed, and that one is waited for', async () => {
    const { requests, failure, errors } = await payScripted([
      [200, { ...quote, paymentInFlight: inFlight }],
      [202, pending],
      [202, pending],
      [200, active],
    ])
    expect(failure).toBeUndefined()
    expect(requests.slice(1).map(({ path, body }) => [path, body])).toEqual([
      ['/v1/billing/x402/settle', JSON.stringify({ quoteId: 'quote_1' })],
      ['/v1/billing/x402/settle', JSON.stringify({ quoteId: 'quote_1' })],
      [poll, ''],
    ])
    expect(errors.join('\n')).toContain('transaction 0xabc')
  })

  test('error: with a payment of another order in flight it stops, and signs nothing', async () => {
    const { failure, requests } = await payScripted([
      [200, { ...quote, paymentInFlight: inFlight }],
      [402, { code: 'payment_required', retryAction: 'sign_anew' }],
    ])
    expect(failure).toContain('pay_1, unknown. Nothing was signed')
    expect(requests).toHaveLength(2)
  })

  test('behavior: a tier that the account has is bought again only with --another-period', async () => {
    const period = { tierId: 'pro', endsAt: '2026-02-01T03:04:05.678Z' }
    const held = { tier: { id: 'pro' }, current: period, upcoming: [], free: false }
    const first = await payScripted([], {}, held)
    expect([first.failure, first.requests]).toEqual([undefined, []])
    expect(first.errors.at(-1)).toContain('until 2026-02-01T03:04:05.678Z. Nothing was signed.')
    const steps: Step[] = [
      [200, quote],
      [200, active],
    ]
    const next = await payScripted(steps, { anotherPeriod: true }, held)
    expect(next.failure).toBeUndefined()
    expect(JSON.parse(next.requests[0]?.body ?? '')).toMatchObject({ anotherPeriod: true })
  })

  test('behavior: a payment in flight is asked for until it counts', async () => {
    const { requests, waits, failure } = await payScripted([
      [200, quote],
      [202, pending],
      [200, pending],
      'lost',
      [200, active],
    ])
    expect(failure).toBeUndefined()
    expect(requests.slice(2).map(({ path }) => path)).toEqual([poll, poll, poll])
    expect(waits).toEqual([2000, 2000, 3000])
  })

  test('behavior: a lost answer is followed by the same payment, byte by byte', async () => {
    const busy: Step = [503, { code: 'billing_unavailable', retryAction: 'retry_same_payment' }]
    const { requests, failure } = await payScripted([[200, quote], 'lost', busy, [200, active]])
    expect(failure).toBeUndefined()
    const bodies = new Set(requests.slice(1).map(({ body }) => body))
    expect([requests.length, bodies.size]).toEqual([4, 1])
  })

  test('error: without any answer, it says not to pay again', async () => {
    const { failure, requests } = await payScripted([[200, quote]])
    expect(failure).toContain('Do not pay again')
    expect(requests).toHaveLength(11)
  })

  test('error: a refusal is told with what to do next', async () => {
    const body = { code: 'payment_rejected', detail: 'Too little.', retryAction: 'sign_anew' }
    const { failure } = await payScripted([
      [200, quote],
      [402, body],
    ])
    expect(failure).toBe('The server answered 402 payment_rejected: Too little. (next: sign_anew)')
  })

  test('error: the key is not taken to another place, wherever the server points', async () => {
    const elsewhere = { ...pending, pollUrl: 'http://127.0.0.1:2/v1/billing/x402/payments/pay_1' }
    const { failure, requests } = await payScripted([
      [200, quote],
      [202, elsewhere],
    ])
    expect(failure).toContain('Do not pay again')
    expect(requests).toHaveLength(2)
  })

  test('error: a payment in review is no success', async () => {
    const review = { status: 'review', retryAction: 'ask_operator', reason: 'used_elsewhere' }
    const { failure } = await payScripted([
      [200, quote],
      [202, pending],
      [200, review],
    ])
    expect(failure).toBe('The payment is review: used_elsewhere, next: ask_operator.')
  })

  const { paymentRequirements } = quote
  test.each([
    ['another token', { asset: `0x${'2'.repeat(40)}` }, /another token than USDC/],
    ['another chain', { network: 'eip155:1' }, /another token than USDC/],
    ['too much', { amount: '100000001' }, /more than --max 100/],
    ['no amount', { amount: '-1' }, /cannot be read/],
    ['no payee', { payTo: 'you' }, /cannot be read/],
  ])('error: a server that asks for %s gets no signature', async (_name, change, message) => {
    const asked = { ...quote, paymentRequirements: { ...paymentRequirements, ...change } }
    const { failure, requests } = await payScripted([[200, asked]])
    expect(failure).toMatch(message)
    expect(requests).toHaveLength(1)
  })

  test('behavior: redirects are never followed: they would carry the key elsewhere', async () => {
    const { requests } = await payScripted([[200, quote]])
    expect(requests.every(({ redirect }) => redirect === 'error')).toBe(true)
  })

  test("error: a server that passes on another one's sign-in message gets no signature", async () => {
    const { address } = await createPayer(`0x${'7'.repeat(64)}`)
    const message = await createWallets(undefined).writeSignIn({
      domain: 'bank.example',
      address,
      statement: 'Sign in.',
      uri: 'https://bank.example',
      chainId: 137,
      nonce: 'nonce1234',
      issuedMs: NOW_MS,
      expiresMs: NOW_MS + 60_000,
    })
    const { failure, requests } = await payScripted([[200, { message }]], { apiKeyFile: undefined })
    expect(failure).toContain('Nothing was signed')
    expect(requests).toHaveLength(1)
  })

  test('error: a key file that others may read, that is no key, that is not there', async () => {
    const open = writeSecret('open.key', `0x${'7'.repeat(64)}`)
    chmodSync(open, 0o644)
    const cases: [path: string, message: RegExp][] = [
      [open, /chmod 600/],
      [writeSecret('bad.key', 'abc'), /does not hold a private key/],
      [writeSecret('zero.key', `0x${'0'.repeat(64)}`), /does not hold a private key/],
      [folder, /must be a file/],
      [join(folder, 'none'), /ENOENT/],
    ]
    for (const [path, message] of cases) {
      expect((await payScripted([], { keyFile: path })).failure).toMatch(message)
    }
  })
})

describe.skipIf(!hasAnvil)('bookfeed pay', () => {
  const data = join(folder, 'play')
  let sandbox: ReturnType<typeof startSandbox>
  let server = ''
  let script = ''
  let rpc = ''

  function startSandbox() {
    const env = { BOOKFEED_PORT: '0', BOOKFEED_RECORD: 'off', BOOKFEED_SAMPLE: 'off' }
    return Bun.spawn([process.execPath, main, 'sandbox', '--data', data], {
      env: { ...env, BOOKFEED_LOG: 'off' },
      stdout: 'pipe',
      stderr: 'ignore',
    })
  }

  beforeAll(async () => {
    sandbox = startSandbox()
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of sandbox.stdout) {
      text += decoder.decode(bytes, { stream: true })
      if (/bun run/.test(text)) break
    }
    server = /listens on (\S+)/.exec(text)?.[1] ?? ''
    rpc = /imitates Polygon: (\S+)/.exec(text)?.[1] ?? ''
    script = readFileSync(join(data, 'buy.ts'), 'utf8')
  }, 300_000)
  afterAll(async () => {
    sandbox.kill()
    await sandbox.exited
  })

  async function run(...args: string[]) {
    const wallet = /privateKeyToAccount\("(0x[0-9a-f]+)"\)/.exec(script)?.[1] ?? ''
    return runAs(writeSecret('play.key', wallet), ...args)
  }

  async function runAs(path: string, ...args: string[]) {
    const command = [process.execPath, main, 'pay', '--server', server, '--key-file', path, ...args]
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    return { exitCode: await child.exited, output, errors }
  }

  const keysOf = async (key: string) => {
    const response = await fetch(`${server}/v1/keys`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data = [] } = (await response.json()) as { data?: { id: string }[] }
    return [response.status, data.length]
  }

  test('behavior: a dry run, and a run without the key of the wallet, leave its only key as it is', async () => {
    const wallet = await createPayer(`0x${'8'.repeat(64)}`)
    const path = writeSecret('other.key', `0x${'8'.repeat(64)}`)
    const send = async (route: string, body: object) =>
      (await (
        await fetch(server + route, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).json()) as { message: string; key: string }
    const { message } = await send('/v1/keys/challenge', { address: wallet.address })
    const signature = await wallet.signMessage(message)
    const { key } = await send('/v1/keys', { message, signature })
    const buy = (...args: string[]) => runAs(path, '--tier', 'pro', ...args)
    const dry = await buy()
    expect([dry.exitCode, dry.output]).toEqual([0, ''])
    expect(await keysOf(key)).toEqual([200, 1])
    const refused = await buy('--yes')
    expect([refused.exitCode, refused.output]).toEqual([1, ''])
    expect(refused.errors).toContain('--api-key-file')
    expect(await keysOf(key)).toEqual([200, 1])
    // It has no money, so the purchase fails after the key was replaced, as was asked for.
    const replaced = await buy('--yes', '--replace-key')
    expect(replaced.output).toMatch(/^bf_live_\w+\n$/)
    expect(await keysOf(key)).toEqual([401, 0])
  }, 300_000)

  test('default: signs up, pays with USDC, and the key that it prints has the tier', async () => {
    // The wallet of the sandbox has a key already.
    const { exitCode, output, errors } = await run('--tier', 'pro', '--yes', '--replace-key')
    expect(errors).toMatch(/receipt {2}pay_\w+, transaction 0x[0-9a-f]{64}/)
    expect(exitCode).toBe(0)
    const headers = { authorization: `Bearer ${output.trim()}` }
    const response = await fetch(`${server}/v1/billing/subscription`, { headers })
    expect(await response.json()).toMatchObject({ tier: { id: 'pro' }, free: false })
  }, 300_000)

  test('error: USDT without an allowance says which transaction is missing', async () => {
    const key = /const key = "(.*)"/.exec(script)?.[1] ?? ''
    const keys = ['--api-key-file', writeSecret('play.api', key)]
    const args = ['--tier', 'starter', '--token', 'USDT', '--yes', ...keys]
    const told = await run(...args)
    expect(told.exitCode).toBe(1)
    expect(told.errors).toContain('412 allowance_required')
    const seen = await run(...args, '--rpc', rpc)
    expect(seen.exitCode).toBe(1)
    expect(seen.errors).toContain("cast send 0xc2132D05D31c914a87C6611C10748AEb04B58e8F 'approve(")
  }, 300_000)
})
