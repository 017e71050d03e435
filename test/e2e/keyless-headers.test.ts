/**
 * What a 402 says in its headers, of a server that sells on two chains: short enough for proxies, in
 * the order in which the operator names the chains, and for clients of x402 and of the scheme
 * `Payment` alike.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { x402Client } from '@x402/core/client'
import { toClientEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { keccak256, toBytes } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { PaymentRequired } from '#src/billing/billing.ts'
import { findChain } from '#src/domain/selling/payment-chain.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { toChallengeHeader } from '#src/http/x402.ts'

import { hasAnvil } from '../support/anvil.ts'
import { findFreePort } from '../support/free-port.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { type PaidServer, startPaidServer } from '../support/paid-server.ts'
import { hasProxy, startTlsProxy } from '../support/tls-proxy.ts'

const HEADERS_BYTES_MAX = 3_000
const LIST = '/v1/btc/markets'
const GAS = 10n ** 20n
const toBase64Url = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

const base = findChain('eip155:8453')
if (base === undefined) throw new Error('The table of chains has no Base.')

describe.skipIf(!hasAnvil)('the headers of a 402', async () => {
  const { history, both } = await createMarketHistory()
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-headers-'))
  let polygon: LittlePolygon
  let onBase: LittlePolygon
  let server: PaidServer

  beforeAll(async () => {
    ;[polygon, onBase] = await Promise.all([
      startLittlePolygon({ slotsInAnEpoch: 0 }),
      startLittlePolygon({ slotsInAnEpoch: 0, chain: base }),
    ])
    const gasKey = generatePrivateKey()
    for (const chain of [polygon, onBase])
      await chain.setGas(privateKeyToAccount(gasKey).address, GAS)
    const localOn = ({ chain, url }: LittlePolygon) =>
      createLocalFacilitator({ chain, rpcUrl: url, gasKey, pollMs: 10 })
    server = await startPaidServer({
      chain: onBase,
      facilitator: localOn(onBase),
      others: [{ chain: polygon, facilitator: localOn(polygon) }],
      history,
      isKeyless: true,
    })
  })
  afterAll(async () => {
    await server?.stop()
    await polygon?.stop()
    await onBase?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The bytes of the status line and all headers, as they are sent, and the headers. */
  function readHead(path: string, method = 'GET', headers: Record<string, string> = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<{ bytes: number; sent: Headers }>()
    const own = {
      Host: 'books.example.com',
      Connection: 'close',
      'Content-Length': '0',
      ...headers,
    }
    const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`)
    let text = ''
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1', () =>
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    )
    socket.on('error', reject)
    socket.on('data', (data) => (text += data.toString('latin1')))
    socket.on('close', () => {
      const end = text.indexOf('\r\n\r\n')
      const [status = '', ...rest] = text.slice(0, end).split('\r\n')
      if (!status.includes(' 402 ')) return reject(new Error(`${path.slice(0, 100)} is ${status}`))
      const pairs = rest.map((line): [string, string] => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon), line.slice(colon + 1).trim()]
      })
      resolve({ bytes: end + 4, sent: new Headers(pairs) })
    })
    return promise
  }

  const demandIn = (sent: Headers) =>
    JSON.parse(
      Buffer.from(sent.get('payment-required') ?? '', 'base64').toString(),
    ) as PaymentRequired

  const long = {
    Origin: `https://${'sub.'.repeat(20)}example.com`,
    'X-Request-Id': 'r'.repeat(64),
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'X-Forwarded-For': '198.51.100.7',
  }

  /** Empty parameters, which are passed over. */
  const padding = '&'.repeat(1000)

  test.each([
    ['GET', LIST],
    ['GET', `/v1/btc/markets/${both.conditionId}/snapshots`],
    ['GET', `/v1/btc/markets/${both.conditionId}/quotes`],
    ['POST', '/v1/billing/packs/pack-20000'],
    ['POST', '/v1/billing/buy/pro'],
  ])('error: %s %s has at most 3 kB of headers, on all chains in all tokens', async (...row) => {
    const [method, path] = row
    const { bytes, sent } = await readHead(`${path}?${padding}`, method, long)
    expect(bytes).toBeLessThanOrEqual(HEADERS_BYTES_MAX)
    const { accepts, resource, extensions } = demandIn(sent)
    expect(accepts.length).toBe(3)
    expect(resource.url).toBe(server.origin + path)
    expect(Object.keys(extensions ?? {})).toEqual(['payment-identifier'])
  })

  test('error: nor with a path of any length, whose end is cut', async () => {
    const encoded = (text: string) =>
      [...text].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join('')
    const path = `/v1/btc/markets/${encoded(both.conditionId)}/snapshots`
    const { bytes, sent } = await readHead(`${path}?${padding}`, 'GET', long)
    expect(bytes).toBeLessThanOrEqual(HEADERS_BYTES_MAX)
    const { accepts, resource } = demandIn(sent)
    expect([accepts.length > 0, resource.url.length]).toEqual([true, 200])
  })

  test('error: nor where more chains are sold on than there are: the first offers stay', async () => {
    const { paymentRequired } = (await (await fetch(server.origin + LIST)).json()) as {
      paymentRequired: PaymentRequired
    }
    const accepts = Array.from({ length: 10 }, () => paymentRequired.accepts).flat()
    const header = toChallengeHeader({ ...paymentRequired, accepts }, 500)
    expect(header.length).toBeLessThan(1_750)
    const shown = demandIn(new Headers({ 'payment-required': header })).accepts
    expect([shown.length, shown]).toEqual([3, accepts.slice(0, 3)])
  })

  test('behavior: offers are USDC first, on chains as the operator names them, and are upfront', async () => {
    const { sent } = await readHead(LIST)
    const { accepts } = demandIn(sent)
    const [usdc, usdt] = polygon.chain.tokens
    expect(accepts.map(({ network, asset }) => [network, asset])).toEqual([
      [onBase.network, onBase.chain.tokens[0]?.address ?? ''],
      [polygon.network, usdc?.address ?? ''],
      [polygon.network, usdt?.address ?? ''],
    ])
    expect(accepts.map(({ extra }) => extra.paymentFlow)).toEqual(['upfront', 'upfront', 'upfront'])
  })

  test.each(['SIGN-IN-WITH-X', 'PAYMENT-IDENTIFIER', 'Cookie'])(
    'error: a header %s that a client sends first leads to the 402',
    async (name) => {
      for (const value of ['e30=', 'nonsense', '{"a":1}'])
        expect((await fetch(server.origin + LIST, { headers: { [name]: value } })).status).toBe(402)
    },
  )

  const newWallet = async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await onBase.mintUsdc(account.address, 1_000_000n)
    return account
  }

  describe.skipIf(!hasProxy('nginx'))('behind nginx with deploy/nginx.conf', () => {
    let proxy: Awaited<ReturnType<typeof startTlsProxy>> | undefined
    const tls = { rejectUnauthorized: false }
    beforeAll(async () => {
      const port = findFreePort()
      proxy = await startTlsProxy('nginx', { folder, port, serverOrigin: server.origin })
    }, 300_000)
    afterAll(() => proxy?.stop())

    test('default: each 402 arrives', async () => {
      const asked: [string, string][] = [
        ['GET', LIST],
        ['GET', `${LIST}?${padding}`],
        ['POST', '/v1/billing/packs/pack-1000'],
        ['POST', '/v1/billing/buy/pro'],
      ]
      for (const [method, path] of asked) {
        const headers = { origin: long.Origin, 'x-request-id': long['X-Request-Id'] }
        const response = await fetch(proxy?.origin + path, { method, headers, tls })
        expect([path, response.status]).toEqual([path, 402])
        expect(demandIn(response.headers).accepts.length).toBe(3)
      }
    })

    test('default: a wallet with money on Base alone, registered for eip155:*, buys', async () => {
      const account = await newWallet()
      const client = new x402Client().register(
        'eip155:*',
        new ExactEvmScheme(toClientEvmSigner(account, { readContract: () => Promise.reject() })),
      )
      const insecure = (input: Request, init?: RequestInit) => fetch(input, { ...init, tls })
      const pay = wrapFetchWithPayment(insecure as typeof fetch, client)
      const before = await onBase.balanceOf('USDC', onBase.payee.address)
      const response = await pay(`${proxy?.origin}${LIST}?limit=1`)
      expect(response.status).toBe(200)
      expect((await onBase.balanceOf('USDC', onBase.payee.address)) - before).toBe(1000n)
      const pack = await pay(`${proxy?.origin}/v1/billing/packs/pack-1000`, { method: 'POST' })
      // A pack costs a dollar, and the wallet has less.
      expect(pack.status).toBe(402)
    })
  })

  /** As a client of draft-httpauth-payment-01 answers a challenge of method `evm`. */
  async function signChallenge(challenge: string, account: Awaited<ReturnType<typeof newWallet>>) {
    const parameters = Object.fromEntries(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    )
    const { id = '', realm = '', request = '', expires = '' } = parameters
    const asked = JSON.parse(Buffer.from(request, 'base64url').toString()) as {
      amount: string
      currency: `0x${string}`
      recipient: `0x${string}`
      methodDetails: { chainId: number; credentialTypes: string[] }
    }
    expect(asked.methodDetails.credentialTypes).toEqual(['authorization'])
    const nonce = keccak256(toBytes(id + realm))
    const validBefore = Math.floor(Date.parse(expires) / 1000)
    const signature = await account.signTypedData({
      domain: {
        name: 'USD Coin',
        version: '2',
        chainId: asked.methodDetails.chainId,
        verifyingContract: asked.currency,
      },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: {
        from: account.address,
        to: asked.recipient,
        value: BigInt(asked.amount),
        validAfter: 0n,
        validBefore: BigInt(validBefore),
        nonce,
      },
    })
    const payload = {
      type: 'authorization',
      from: account.address,
      to: asked.recipient,
      value: asked.amount,
      validAfter: '0',
      validBefore: String(validBefore),
      nonce,
      signature,
    }
    const source = `did:pkh:eip155:${asked.methodDetails.chainId}:${account.address}`
    const credential = { challenge: parameters, payload, source }
    return `Payment ${toBase64Url(credential)}`
  }

  test('default: the scheme Payment buys, and its payment is answered again as it is', async () => {
    const account = await newWallet()
    const before = await onBase.balanceOf('USDC', onBase.payee.address)
    const demand = await fetch(server.origin + LIST)
    const challenge = demand.headers.get('www-authenticate') ?? ''
    expect(challenge).toStartWith('Payment id="')
    const authorization = await signChallenge(challenge, account)
    for (let time = 0; time < 2; time++) {
      const response = await fetch(server.origin + LIST, { headers: { authorization } })
      expect(response.status).toBe(200)
      expect(response.headers.has('payment-response')).toBe(true)
    }
    expect((await onBase.balanceOf('USDC', onBase.payee.address)) - before).toBe(1000n)
  })

  test.each(['e30', '!', 'bnVsbA', toBase64Url({ challenge: {}, payload: {} })])(
    'error: the credential %s is refused, and no money moves',
    async (credential) => {
      const headers = { authorization: `Payment ${credential}` }
      const response = await fetch(server.origin + LIST, { headers })
      const { code, param } = (await response.json()) as { code: string; param: string }
      expect([response.status, code, param]).toEqual([400, 'payment_invalid', 'Authorization'])
    },
  )
})
