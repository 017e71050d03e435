import { describe, expect, test } from 'bun:test'

import type { Billing } from '#src/billing/billing.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'

import {
  fakeBilling,
  fakeChallenge,
  fakePeriod,
  refusingBilling,
  TX_HASH,
} from '../support/fake-billing.ts'
import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { expectDocumented, readDocument } from '../support/openapi-document.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson } from '../support/signup-client.ts'

const DAY_MS = 86_400_000
const CHAINS = '/v1/billing/x402/chains'
const QUOTE = '/v1/billing/x402/quote'
const SUBSCRIPTION = '/v1/billing/subscription'
const wish = { tierId: 'pro', network: 'eip155:137', token: 'USDC' }

const harness = (script: Partial<Billing> = {}) => createHarness({ billing: fakeBilling(script) })
const fromHeader = (response: Response, name: string): unknown =>
  JSON.parse(Buffer.from(response.headers.get(name) ?? '', 'base64').toString())

async function expectOf(send: ReturnType<typeof harness>['send'], id: string, response: Response) {
  const { document, entries } = await readDocument(send)
  const entry = entries.find(({ operationId }) => operationId === id)
  if (entry === undefined) throw new Error(`${id} is not documented.`)
  const copy = new Response(await response.clone().text(), response)
  await expectDocumented(document, entry, copy)
}

describe(`GET ${CHAINS}`, () => {
  test('default: everybody sees each chain with its tokens, and why one is closed', async () => {
    const { send, sendAs } = harness()
    const response = await sendAs(undefined, CHAINS)
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-cache'])
    await expectOf(send, 'listChains', response)
    expect(await response.json()).toEqual([
      {
        network: 'eip155:137',
        name: 'Polygon',
        chainId: 137,
        explorer: 'https://polygonscan.com',
        finality: 'finalized',
        tokens: [
          {
            symbol: 'USDC',
            name: 'USD Coin',
            address: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
            decimals: 6,
            transferMethod: 'eip3009',
            eip712Domain: { name: 'USD Coin', version: '2' },
            enabled: true,
            reason: null,
          },
          {
            symbol: 'USDT',
            name: 'USDT0',
            address: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F',
            decimals: 6,
            transferMethod: 'permit2',
            eip712Domain: null,
            enabled: false,
            reason: 'Permit2 is not there.',
          },
        ],
      },
    ])
  })
})

describe(`POST ${QUOTE}`, () => {
  test('default: the offer, with the challenge in body and header alike', async () => {
    const { send } = harness()
    const response = await send(QUOTE, asJson(wish))
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    await expectOf(send, 'createQuote', response)
    const body = (await response.clone().json()) as Record<string, unknown>
    expect(body).toMatchObject({
      quoteId: 'quote_fake',
      expiresAt: new Date(NOW_MS + 600_000).toISOString(),
      paymentRequirements: fakeChallenge.accepts[0],
      paymentRequired: fakeChallenge,
      tier: { tierId: 'pro', name: 'Pro', periodDays: 30 },
      startsAt: new Date(NOW_MS).toISOString(),
      chain: { network: 'eip155:137', chainId: 137 },
      token: { symbol: 'USDC', transferMethod: 'eip3009' },
    })
    expect(fromHeader(response, 'payment-required')).toEqual(fakeChallenge)
  })

  test('behavior: under one Idempotency-Key there is one offer, header included', async () => {
    let made = 0
    const { send } = harness({
      quote: async (caller, asked) => {
        made++
        return fakeBilling().quote(caller, asked)
      },
    })
    const asked = () => send(QUOTE, asJson(wish, { 'idempotency-key': 'one' }))
    const answers = await Promise.all([asked(), asked(), asked()])
    expect(made).toBe(1)
    const [first, ...others] = await Promise.all(answers.map((each) => each.clone().text()))
    for (const other of others) expect(other).toBe(first ?? '')
    for (const answer of answers) {
      expect(fromHeader(answer, 'payment-required')).toEqual(fakeChallenge)
    }
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([
      null,
      'true',
      'true',
    ])
  })

  test('behavior: two accounts may choose the same Idempotency-Key', async () => {
    const accounts: string[] = []
    const { ledger, key, sendAs } = harness({
      quote: async (caller, asked) => {
        accounts.push(caller.accountId)
        return fakeBilling().quote(caller, asked)
      },
    })
    const other = addKey(ledger, 'free')
    for (const token of [key, other]) {
      const response = await sendAs(token, QUOTE, asJson(wish, { 'idempotency-key': 'one' }))
      expect(response.status).toBe(200)
    }
    expect(new Set(accounts).size).toBe(2)
  })

  test.each([
    ['tierId', {}],
    ['network', { network: 1 }],
    ['token', { token: '' }],
    ['amount', { amount: '1' }],
    ['anotherPeriod', { anotherPeriod: 'true' }],
  ])('error: a body whose `%s` is not right asks nobody', async (param, change) => {
    const { send } = createHarness({ billing: refusingBilling('offer_limit') })
    const body = param === 'tierId' ? {} : { ...wish, ...change }
    const problem = await readProblem(await send(QUOTE, asJson(body)))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', param])
  })

  test('error: a refusal is no answer to be kept', async () => {
    const { send } = harness()
    const headers = { 'idempotency-key': 'one' }
    const refused = await send(QUOTE, asJson({ ...wish, tierId: 'gold' }, headers))
    expect((await readProblem(refused)).code).toBe('unknown_tier')
    expect((await send(QUOTE, asJson(wish, headers))).status).toBe(200)
  })
})

describe('billing that is closed', () => {
  test('default: the chains say why, everything else is billing_unavailable, the data goes on', async () => {
    const { send } = createHarness()
    const [chain] = (await (await send(CHAINS)).json()) as { tokens: object[] }[]
    const told = { enabled: false, reason: 'Billing is not configured.' }
    expect(chain?.tokens).toMatchObject([told, told])
    const asked = [
      await send(QUOTE, asJson(wish)),
      await send('/v1/billing/x402/settle', asJson({ paymentPayload: { x402Version: 2 } })),
      await send('/v1/billing/x402/settle', asJson({ quoteId: 'quote_1' })),
      await send('/v1/billing/x402/payments/pay_1'),
      await send('/v1/billing/payments'),
    ]
    for (const response of asked) {
      const { code, detail, retryAction } = await readProblem(response)
      expect([code, detail]).toEqual(['billing_unavailable', 'Billing is not configured.'])
      expect(retryAction).toBe('ask_operator')
    }
    expect((await send(SUBSCRIPTION)).status).toBe(200)
    expect((await send('/v1/btc/markets')).status).toBe(200)
  })
})

describe(`GET ${SUBSCRIPTION}`, () => {
  test('default: the period that runs, and those to come', async () => {
    const { send } = harness()
    const response = await send(SUBSCRIPTION)
    expect(response.headers.get('cache-control')).toBe('no-store')
    await expectOf(send, 'getSubscription', response)
    expect(await response.json()).toMatchObject({
      tier: { id: 'test', name: 'Test' },
      current: { tierId: 'test', endsAt: null, paymentId: null },
      upcoming: [{ id: 'sub_next', startsAt: new Date(NOW_MS + 30 * DAY_MS).toISOString() }],
      free: false,
    })
  })

  test('behavior: on the Free tier nothing runs', async () => {
    const { ledger, sendAs } = harness({ subscriptions: () => [] })
    const response = await sendAs(addKey(ledger, undefined), SUBSCRIPTION)
    expect(await response.json()).toEqual({
      tier: { id: 'free', name: 'Free' },
      current: null,
      upcoming: [],
      free: true,
    })
  })

  test('behavior: each account is shown its own', async () => {
    const { ledger, sendAs, key } = harness({
      subscriptions: ({ accountId }: Caller) => [
        fakePeriod(accountId, { id: `sub_of_${accountId}`, startMs: NOW_MS + 1 }),
      ],
    })
    const idsOf = async (token: string) => {
      const body = await (await sendAs(token, SUBSCRIPTION)).json()
      return (body as { upcoming: { id: string }[] }).upcoming.map(({ id }) => id)
    }
    const mine = await idsOf(key)
    const theirs = await idsOf(addKey(ledger, 'free'))
    expect(mine).toHaveLength(1)
    expect(mine).not.toEqual(theirs)
  })
})

describe('GET /v1/billing/payments', () => {
  const PATH = '/v1/billing/payments'
  type List = { data: { paymentId: string }[]; nextCursor: string | null }
  const read = async (response: Response) => (await response.json()) as List

  test('default: a receipt for each payment, newest first, page by page', async () => {
    const { send } = harness()
    const first = await send(`${PATH}?limit=1`)
    await expectOf(send, 'listPayments', first)
    const { data, nextCursor } = await read(first)
    expect(data).toMatchObject([
      { paymentId: 'pay_pending', status: 'pending', subscription: null, transaction: null },
    ])
    const rest = await read(await send(`${PATH}?limit=1&cursor=${nextCursor}`))
    expect(rest).toMatchObject({
      data: [
        {
          paymentId: 'pay_active',
          quoteId: 'quote_fake',
          status: 'active',
          tier: { tierId: 'pro', name: 'Pro', periodDays: 30 },
          subscription: { id: 'sub_fake' },
          amount: '48999863',
          amountUsd: '48.999863',
          token: 'USDC',
          network: 'eip155:137',
          payer: `0x${'12'.repeat(20)}`,
          transaction: TX_HASH,
          explorerUrl: `https://polygonscan.com/tx/${TX_HASH}`,
          createdAt: new Date(NOW_MS).toISOString(),
        },
      ],
      nextCursor: null,
    })
    expect((await read(await send(PATH))).data).toHaveLength(2)
  })

  test('error: a cursor of another account is a mismatch', async () => {
    const { ledger, send, sendAs } = harness()
    const { nextCursor } = await read(await send(`${PATH}?limit=1`))
    const stolen = await sendAs(addKey(ledger, 'pro'), `${PATH}?cursor=${nextCursor}`)
    expect((await readProblem(stolen)).code).toBe('cursor_mismatch')
  })

  test.each(['limit=0', 'limit=101', 'limit=1e1'])('error: %s is refused', async (query) => {
    const { param } = await readProblem(await harness().send(`${PATH}?${query}`))
    expect(param).toBe('limit')
  })

  test('behavior: the account is that of the key, whatever is asked', async () => {
    const seen = new Set<string>()
    const { ledger, key, sendAs } = harness({
      payments: ({ accountId }) => {
        seen.add(accountId)
        return []
      },
      payment: ({ accountId }, id) => {
        seen.add(accountId)
        throw new AppError('unknown_payment', `None ${id}.`)
      },
    })
    const tokens = [key, addKey(ledger, 'pro')]
    for (const token of tokens) {
      await sendAs(token, PATH)
      await sendAs(token, '/v1/billing/x402/payments/pay_active')
    }
    const own = ledger.listKeys().map(({ accountId }) => accountId)
    expect([...seen].sort()).toEqual([...new Set(own)].sort())
  })
})
