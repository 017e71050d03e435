import { afterEach, describe, expect, test } from 'bun:test'

import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import { createRemoteFacilitator, type RemoteOptions } from '#src/facilitator/remote.ts'

const payer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const hash = `0x${'aB'.repeat(32)}`
const txHash = hash.toLowerCase()
/** Spaces and an order of members that no printing of ours would give. */
const payload = `{ "x402Version":2, "payload":{"authorization":{"from":"${payer}","value":"1"},"signature":"0x00"} }`
const requirements: PaymentRequirements = {
  scheme: 'exact',
  network: 'eip155:137',
  asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  amount: '49000137',
  payTo: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  maxTimeoutSeconds: 600,
  extra: { name: 'USD Coin', version: '2' },
}

type Answer = (request: Request) => Response | Promise<Response>
type Seen = {
  method: string
  path: string
  authorization: string | null
  traceparent: string | null
  body: string
}

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function start(answer: Answer, options: RemoteOptions = {}) {
  const seen: Seen[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { method, url, headers } = request
      const { pathname: path, search } = new URL(url)
      const own = { authorization: headers.get('authorization') }
      const traceparent = headers.get('traceparent')
      const body = await request.text()
      seen.push({ method, path: path + search, ...own, traceparent, body })
      return answer(request)
    },
  })
  stops.push(() => server.stop(true))
  const url = `http://127.0.0.1:${server.port}/x402`
  return { facilitator: createRemoteFacilitator(url, options), seen, url }
}

const settle = (answer: Answer, options?: RemoteOptions) =>
  start(answer, options).facilitator.settle(payload, requirements)
const json = (body: unknown, status = 200) => Response.json(body, { status })
const success = { success: true, transaction: hash, network: 'eip155:137', payer }
const failure = { success: false, transaction: '', network: 'eip155:137', payer }
const pending = { ...failure, errorReason: 'settlement_pending', transaction: hash }
/** An answer that never ends. */
const drip = (chunk: string) => {
  let timer: ReturnType<typeof setInterval> | undefined
  return new Response(
    new ReadableStream({
      start(controller) {
        timer = setInterval(() => controller.enqueue(chunk), 5)
      },
      cancel: () => clearInterval(timer),
    }),
  )
}

describe('settle', () => {
  test('default: hands over the stored bytes, each time the same', async () => {
    const { facilitator, seen } = start(() => json(success))
    expect(await facilitator.settle(payload, requirements)).toEqual({ kind: 'success', txHash })
    expect(await facilitator.settle(payload, requirements)).toEqual({ kind: 'success', txHash })
    const body = `{"x402Version":2,"paymentPayload":${payload},"paymentRequirements":${JSON.stringify(requirements)}}`
    const headers = { authorization: null, traceparent: null }
    const request = { method: 'POST', path: '/x402/settle', ...headers, body }
    expect(seen).toEqual([request, request])
  })

  test('behavior: says what the call is part of', async () => {
    const { facilitator, seen } = start(() => json(success))
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await facilitator.settle(payload, requirements, trace)
    expect(seen.map(({ traceparent }) => traceparent)).toEqual([trace])
  })

  test.each([
    ['without a payer', { ...success, payer: undefined }],
    ['with null for what is optional', { ...success, payer: null, errorReason: null }],
    ['with the payer in another case', { ...success, payer: payer.toLowerCase() }],
    ['with members that we do not know', { ...success, extra: { a: 1 } }],
  ])('behavior: takes a success %s', async (_, body) => {
    expect(await settle(() => json(body))).toEqual({ kind: 'success', txHash })
  })

  const unknown = (reason: string, found?: string) => ({ kind: 'unknown', reason, txHash: found })
  const failed = (reason: string, found?: string) => ({ kind: 'failed', reason, txHash: found })
  const late = { ...failure, errorReason: 'settlement_pending' }
  const bad = { ...failure, errorReason: 'invalid_exact_evm_signature' }

  test.each([
    ['pending', () => json(pending), { kind: 'pending', txHash }],
    ['pending with 500', () => json(pending, 500), { kind: 'pending', txHash }],
    ['pending with 402', () => json(pending, 402), { kind: 'pending', txHash }],
    ['pending without a hash', () => json(late), unknown('settlement_pending')],
    ['a failure', () => json(bad), failed('invalid_exact_evm_signature')],
    ['a failure with 400', () => json(bad, 400), failed('invalid_exact_evm_signature')],
    [
      'a failure with a hash',
      () => json({ ...bad, transaction: hash }),
      failed('invalid_exact_evm_signature', txHash),
    ],
    ['a failure without a reason', () => json(failure), failed('no_reason_given')],
    [
      'a failure whose word has a message behind it',
      () => json({ ...bad, errorReason: `invalid_x: ${'a'.repeat(1000)} key=hunter2` }),
      failed('invalid_x'),
    ],
    [
      'a failure that is a message',
      () => json({ ...bad, errorReason: 'No such\nkey: hunter2' }),
      failed('no_reason_given'),
    ],
    ['a failure with 500', () => json(bad, 500), unknown('invalid_exact_evm_signature')],
    [
      'a failure with 500 and a hash',
      () => json({ ...bad, transaction: hash }, 503),
      unknown('invalid_exact_evm_signature', txHash),
    ],
    ['a success with 500', () => json(success, 500), unknown('facilitator_http_500', txHash)],
    ['a success with 400', () => json(success, 400), unknown('facilitator_http_400', txHash)],
    ['a success with 403', () => json(success, 403), unknown('facilitator_http_403', txHash)],
    [
      'a success without a hash',
      () => json({ ...success, transaction: '' }),
      unknown('facilitator_hash_invalid'),
    ],
    [
      'a success with a hash too short',
      () => json({ ...success, transaction: hash.slice(0, -1) }),
      unknown('facilitator_hash_invalid'),
    ],
    [
      'a success on another network',
      () => json({ ...success, network: 'eip155:8453' }),
      unknown('facilitator_network_mismatch', txHash),
    ],
    [
      'a success on no network',
      () => json({ ...success, network: undefined }),
      unknown('facilitator_network_mismatch', txHash),
    ],
    [
      'a success of another payer',
      () => json({ ...success, payer: requirements.payTo }),
      unknown('facilitator_payer_mismatch', txHash),
    ],
    ['401', () => json({ error: 'no' }, 401), { kind: 'refused', reason: 'facilitator_http_401' }],
    [
      '403',
      () => new Response('', { status: 403 }),
      { kind: 'refused', reason: 'facilitator_http_403' },
    ],
    [
      '429 with a failure',
      () => json(bad, 429),
      { kind: 'refused', reason: 'facilitator_http_429' },
    ],
    ['400 without an answer', () => json({ error: 'no' }, 400), unknown('facilitator_http_400')],
    ['404', () => new Response('Not found', { status: 404 }), unknown('facilitator_http_404')],
    [
      'a page with 502',
      () => new Response('<html>', { status: 502, headers: { 'content-type': 'text/html' } }),
      unknown('facilitator_http_502'),
    ],
    ['rubbish', () => new Response('<html>'), unknown('facilitator_answer_invalid')],
    ['nothing', () => new Response(null, { status: 204 }), unknown('facilitator_answer_invalid')],
    ['no object', () => json([success]), unknown('facilitator_answer_invalid')],
    [
      'a number for a hash',
      () => json({ ...success, transaction: 1 }),
      unknown('facilitator_answer_invalid'),
    ],
    [
      'a text for success',
      () => json({ ...success, success: 'true' }),
      unknown('facilitator_answer_invalid'),
    ],
    [
      'an object that hides success in its prototype',
      () => new Response('{"__proto__":{"success":true}}'),
      unknown('facilitator_answer_invalid'),
    ],
    [
      'brackets without end',
      () => new Response('['.repeat(60_000)),
      unknown('facilitator_answer_invalid'),
    ],
    [
      'too much',
      () => json({ ...success, extra: 'a'.repeat(64 * 1024) }),
      unknown('facilitator_answer_too_large'),
    ],
    ['more and more', () => drip('a'.repeat(8192)), unknown('facilitator_answer_too_large')],
  ] satisfies [string, Answer, object][])('error: %s', async (_, answer, result) => {
    expect(await settle(answer)).toEqual(result as never)
  })

  test('error: a redirect is not followed', async () => {
    const { facilitator, seen } = start((request) => Response.redirect(request.url, 307))
    const result = await facilitator.settle(payload, requirements)
    expect(result).toEqual({ kind: 'unknown', reason: 'facilitator_redirect' })
    expect(seen).toHaveLength(1)
  })

  test.each([
    ['says nothing', () => new Promise<Response>(() => {})],
    ['drips', () => drip(' ')],
  ] satisfies [string, Answer][])('error: waits no longer for one that %s', async (_, answer) => {
    const result = await settle(answer, { timeoutMs: 100 })
    expect(result).toEqual({ kind: 'unknown', reason: 'facilitator_timeout' })
  })

  test.each([
    ['before an answer', ''],
    [
      'within an answer',
      `HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n${JSON.stringify(success)}`,
    ],
  ])('error: a connection that is cut %s', async (_, beginning) => {
    const listener = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.end(beginning)
        },
      },
    })
    stops.push(() => listener.stop(true))
    const facilitator = createRemoteFacilitator(`http://127.0.0.1:${listener.port}`)
    const result = await facilitator.settle(payload, requirements)
    expect(result).toEqual({ kind: 'unknown', reason: 'facilitator_unreachable' })
  })

  test('error: nobody listens', async () => {
    const { facilitator } = start(() => json(success))
    await stops.pop()?.()
    const result = await facilitator.settle(payload, requirements)
    expect(result).toEqual({ kind: 'unknown', reason: 'facilitator_unreachable' })
  })

  test('behavior: each request has a token of its own', async () => {
    const { facilitator, seen } = start(() => json(success), {
      token: async ({ method, url }) => `${method}-${url.pathname}`,
    })
    await facilitator.settle(payload, requirements)
    await facilitator.supported()
    expect(seen.map(({ authorization }) => authorization)).toEqual([
      'Bearer POST-/x402/settle',
      'Bearer GET-/x402/supported',
    ])
  })

  test('error: without a token nothing is asked', async () => {
    const token = () => Promise.reject(new Error('hunter2'))
    const { facilitator, seen } = start(() => json(success), { token })
    const reason = 'facilitator_token_failed'
    expect(await facilitator.settle(payload, requirements)).toEqual({ kind: 'refused', reason })
    expect(await facilitator.supported()).toEqual({ kinds: undefined, reason })
    expect(seen).toEqual([])
  })
})

describe('supported', () => {
  const kind = { x402Version: 2, scheme: 'exact', network: 'eip155:137' }

  test('default: tells the kinds, and leaves out what is none', async () => {
    const kinds = [{ ...kind, extra: {} }, null, { ...kind, network: 1 }, { scheme: 'exact' }]
    const { facilitator, seen } = start(() => json({ kinds, extensions: [], signers: {} }))
    expect(await facilitator.supported()).toEqual({ kinds: [kind] })
    expect(seen).toMatchObject([{ method: 'GET', path: '/x402/supported', body: '' }])
  })

  test.each([
    ['no list', () => json({}), 'facilitator_answer_invalid'],
    [
      'a list too long',
      () => json({ kinds: new Array(1001).fill(0) }),
      'facilitator_answer_invalid',
    ],
    ['a failure', () => json({ kinds: [kind] }, 503), 'facilitator_http_503'],
    ['a redirect', () => Response.redirect('/', 302), 'facilitator_redirect'],
  ] satisfies [string, Answer, string][])('error: %s', async (_, answer, reason) => {
    expect(await start(answer).facilitator.supported()).toEqual({ kinds: undefined, reason })
  })
})

describe('createRemoteFacilitator', () => {
  test('behavior: its name is the host alone, and a query stays', async () => {
    const { seen, url } = start(() => json(success))
    const facilitator = createRemoteFacilitator(`${url}/?key=hunter2`)
    expect(facilitator.name).toBe(new URL(url).host)
    await facilitator.supported()
    expect(seen[0]?.path).toBe('/x402/supported?key=hunter2')
  })
})
