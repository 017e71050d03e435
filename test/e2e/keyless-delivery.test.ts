/**
 * Nothing sold without delivery: what a payment for a single request reads, how often, and what is
 * refused before anything is asked for. Judged by the money that moved on a local chain.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { ANSWERS_MAX } from '#src/domain/selling/credit.ts'
import { defaultPacks } from '#src/domain/selling/tier.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { hasAnvil } from '../support/anvil.ts'
import { createHeldFacilitator } from '../support/held-facilitator.ts'
import { ask, type Buyer, newBuyer, openRequest, payFor } from '../support/keyless-buyer.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { type PaidServer, startPaidServer, wallClock } from '../support/paid-server.ts'
import { until } from '../support/until.ts'

const LIST = '/v1/btc/markets'
const LIST_PRICE = 1000n
const BOOKS_PRICE = 5000n
const MINUTE_MS = 60_000

type Body = { code?: string; retryAction?: string; reason?: string }

describe.skipIf(!hasAnvil)('what a payment for a single request reads', async () => {
  let chain: LittlePolygon
  let server: PaidServer
  const { history, both } = await createMarketHistory()
  const books = `${both.path}?limit=1000`
  let hold: ReturnType<typeof createHeldFacilitator>['hold']

  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    const local = createLocalFacilitator({
      chain: chain.chain,
      rpcUrl: chain.url,
      gasKey: chain.facilitator.key,
      pollMs: 10,
    })
    const held = createHeldFacilitator(local)
    hold = held.hold
    server = await startPaidServer({
      chain,
      facilitator: held.facilitator,
      history,
      isKeyless: true,
    })
  })
  afterAll(async () => {
    await server?.stop()
    await chain?.stop()
    history.dispose()
  })

  const received = () => chain.balanceOf('USDC', chain.payee.address)
  const urlOf = (path: string) => server.origin + path
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    ask(urlOf(path), { method, headers })
  async function outcomeOf(response: Response) {
    const { code, retryAction } = (await response.json()) as Body
    return [response.status, code, retryAction]
  }
  async function paid(path: string, buyer?: Buyer) {
    return payFor(urlOf(path), buyer ?? (await newBuyer(chain)), chain)
  }
  const delivered = (ledger: Ledger, payer: string) => {
    const account = ledger.findAccountByAddress(payer.toLowerCase())
    const [payment] =
      account === undefined ? [] : ledger.payments.listPayments({ accountId: account.id, limit: 1 })
    return payment && ledger.payments.findPaidAnswer(payment.id)?.deliveredMs !== undefined
  }
  const cuts: [name: string, cut: (socket: Socket) => void][] = [
    ['RST', (socket) => void socket.resetAndDestroy()],
    ['FIN', (socket) => void socket.end()],
  ]

  test.each(cuts)(
    'behavior: a connection that ends by %s while its payment is settled costs nothing: the same payment reads, hours later as well',
    async (_, cut) => {
      const buyer = await newBuyer(chain)
      const headers = await paid(LIST, buyer)
      const before = await received()
      const { arrived, release } = hold()
      const socket = await openRequest(urlOf(LIST), headers)
      await arrived
      cut(socket)
      // The server sees the end of the connection in a later round of its event loop.
      await Bun.sleep(50)
      release()
      await until(() => {
        const account = server.ledger.findAccountByAddress(buyer.address.toLowerCase())
        return account && server.ledger.payments.listCredits(account.id).length === 1
      })
      expect(delivered(server.ledger, buyer.address)).toBe(false)

      server.time.skewMs += 60 * MINUTE_MS
      const answer = await get(LIST, headers)
      expect([answer.status, ((await answer.json()) as { data: unknown[] }).data.length]).toEqual([
        200, 2,
      ])
      await until(() => delivered(server.ledger, buyer.address))
      // A lost answer is read again for ten minutes, and never another address.
      server.time.skewMs += 9 * MINUTE_MS
      expect((await get(LIST, headers)).status).toBe(200)
      const used = [409, 'payment_conflict', 'sign_anew']
      expect(await outcomeOf(await get(`${LIST}?limit=1`, headers))).toEqual(used)
      expect(await outcomeOf(await get('/v1/eth/markets', headers))).toEqual(used)
      server.time.skewMs += 2 * MINUTE_MS
      expect(await outcomeOf(await get(LIST, headers))).toEqual(used)
      expect((await received()) - before).toBe(LIST_PRICE)
      server.time.skewMs = 0
    },
  )

  test('behavior: a client that gives up and signs another payment pays once, until it was answered', async () => {
    const buyer = await newBuyer(chain)
    const payments = await Promise.all(Array.from({ length: 5 }, () => paid(LIST, buyer)))
    const [first, second, third, fourth = {}, fifth = {}] = payments
    const before = await received()
    const { arrived, release } = hold()
    const sockets = [await openRequest(urlOf(LIST), first ?? {})]
    await arrived
    for (const headers of [second, third]) {
      sockets.push(await openRequest(urlOf(LIST), headers ?? {}))
    }
    // They are with the server, which waits for the first.
    await Bun.sleep(100)
    for (const socket of sockets) socket.resetAndDestroy()
    await Bun.sleep(50)
    release()
    const answer = await get(LIST, fourth)
    expect([answer.status, answer.headers.has('payment-response')]).toEqual([200, true])
    await until(() => delivered(server.ledger, buyer.address))
    expect((await received()) - before).toBe(LIST_PRICE)
    // What was answered is sold again.
    expect((await get(LIST, fifth)).status).toBe(200)
    expect((await received()) - before).toBe(2n * LIST_PRICE)
  })

  test('behavior: a page that was cut off half-way is read again with the same payment, after a restart too', async () => {
    const headers = await paid(books)
    const before = await received()
    const socket = await openRequest(urlOf(books), headers)
    const cut = Promise.withResolvers<number>()
    let bytes = 0
    socket.on('data', (piece) => {
      bytes += piece.length
      if (bytes < 100_000) return
      socket.resetAndDestroy()
      cut.resolve(bytes)
    })
    const cutAt = await cut.promise

    const { ledger } = server
    const other = await startPaidServer({
      chain,
      facilitator: {
        name: 'none',
        settle: async () => ({ kind: 'unknown', reason: 'none' }),
        supported: async () => ({ kinds: [] }),
      },
      history,
      ledger: { ...ledger, dispose: () => undefined },
      isKeyless: true,
    })
    try {
      for (const { origin } of [server, other]) {
        const answer = await ask(origin + books, { headers })
        const text = await answer.text()
        expect([answer.status, text.length > cutAt, text.endsWith('}')]).toEqual([200, true, true])
      }
    } finally {
      await other.stop()
    }
    expect((await received()) - before).toBe(BOOKS_PRICE)
  })

  test('behavior: of many requests with one payment only those at one address are answered, and money moves once', async () => {
    const headers = await paid(LIST)
    const before = await received()
    const paths = [LIST, `${LIST}?limit=1`, `${LIST}?limit=2`, '/v1/eth/markets']
    const all = await Promise.all(
      paths.flatMap((path) =>
        Array.from({ length: 3 }, async () => ({
          path,
          status: (await get(path, headers)).status,
        })),
      ),
    )
    const answered = all.filter(({ status }) => status === 200)
    expect(new Set(answered.map(({ path }) => path)).size).toBe(1)
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200, 409]))
    expect((await received()) - before).toBe(LIST_PRICE)
  })

  test('behavior: nobody follows an address with one payment', async () => {
    const headers = await paid(LIST)
    const statuses: number[] = []
    for (let asked = 0; asked < ANSWERS_MAX + 2; asked++) {
      statuses.push((await get(LIST, headers)).status)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(ANSWERS_MAX)
    expect(statuses.slice(-2)).toEqual([409, 409])
  })

  test('error: what cannot be answered is refused before anything is asked for, and a payment stays usable', async () => {
    const headers = await paid(books)
    const before = await received()
    const first = both.rows[0]?.timestampMs ?? 0
    const markets = '/v1/btc/markets'
    const unknown = `${markets}/0x${'ab'.repeat(32)}`
    const at = `${markets}/${both.conditionId}/snapshots/at`
    const wrong: [path: string, status: number, code: string][] = [
      ['/v1/doge1/markets', 404, 'unknown_coin'],
      [`${unknown}/snapshots`, 404, 'unknown_market'],
      [`${unknown}/quotes`, 404, 'unknown_market'],
      [`${both.path}?limit=0`, 400, 'invalid_parameter'],
      [`${both.path}?limt=5`, 400, 'invalid_parameter'],
      [`${both.path}?fields=none`, 400, 'invalid_parameter'],
      [`${both.path}?cursor=none`, 400, 'cursor_invalid'],
      [`${both.path}?from=2000&to=1000`, 400, 'invalid_parameter'],
      [`${markets}?cursor=none`, 400, 'cursor_invalid'],
      [`${markets}?slug=a&status=open`, 400, 'invalid_parameter'],
      [`${markets}/${both.conditionId}/trades?cursor=none`, 400, 'cursor_invalid'],
      [`${markets}/${both.conditionId}/prices?cursor=none`, 400, 'cursor_invalid'],
      [`${at}?ts=${first - 1}`, 404, 'no_snapshot'],
      [`${at}?ts=${first + 86_400_000}&maxAgeMs=1`, 404, 'stale'],
      [
        `${markets}/${both.conditionId}/fill?ts=${first - 1}&outcome=up&side=buy&size=1`,
        404,
        'no_snapshot',
      ],
      ['/v1/btc/panel?offsets=none', 400, 'invalid_parameter'],
      ['/v1/revisions?cursor=none', 400, 'cursor_invalid'],
      ['/v1/btc/files?cursor=none', 400, 'cursor_invalid'],
    ]
    for (const [path, status, code] of wrong) {
      expect([path, ...(await outcomeOf(await get(path)))]).toEqual([path, status, code, undefined])
      const answer = await get(path, headers)
      expect(answer.headers.has('payment-response')).toBe(false)
      expect([path, ...(await outcomeOf(answer))]).toEqual([
        path,
        status,
        code,
        'retry_same_payment',
      ])
    }
    expect(await received()).toBe(before)
    expect((await get(books, headers)).status).toBe(200)
    expect((await received()) - before).toBe(BOOKS_PRICE)
  })

  test('error: an address that has used its allowance up keeps its payment', async () => {
    const from = { 'x-forwarded-for': '10.255.0.1' }
    const payment = await paid(LIST)
    const sent = { method: 'HEAD', headers: from }
    for (let asked = 0; asked < 240; asked++) await fetch(urlOf(LIST), sent)
    const before = await received()
    const refused = await fetch(urlOf(LIST), { headers: { ...payment, ...from } })
    expect(await outcomeOf(refused)).toEqual([429, 'rate_limited', 'retry_same_payment'])
    expect(await received()).toBe(before)
    expect((await get(LIST, payment)).status).toBe(200)
  })

  test('error: HEAD asks for no money and takes none', async () => {
    const headers = await paid(LIST)
    const before = await received()
    for (const sent of [{}, headers]) {
      const answer = await get(LIST, sent, 'HEAD')
      expect([answer.status, answer.headers.has('payment-required')]).toEqual([401, false])
    }
    expect(await received()).toBe(before)
    expect((await get(LIST, headers)).status).toBe(200)
  })

  test("error: a wallet's window is checked before its payment is settled", async () => {
    const [single] = defaultPacks.filter(({ tierId }) => tierId === 'request-quotes')
    if (single === undefined) throw new Error('There is a pack.')
    const by = { actor: 'operator', nowMs: wallClock() } as const
    for (const pack of defaultPacks) {
      const requestsPerMinute = pack === single ? 3 : pack.requestsPerMinute
      await server.ledger.putTier({ ...pack, requestsPerMinute }, by)
    }
    const buyer = await newBuyer(chain)
    const quotes = `/v1/btc/markets/${both.conditionId}/quotes`
    const before = await received()
    const answers = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const path = `${quotes}?limit=${index + 1}`
        return get(path, await paid(path, buyer))
      }),
    )
    const outcomes = await Promise.all(
      answers.map(async (answer) => (answer.ok ? [200] : await outcomeOf(answer))),
    )
    const limited = outcomes.filter(([status]) => status === 429)
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(3)
    expect(limited).toEqual(Array(3).fill([429, 'rate_limited', 'retry_same_payment']))
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('x-ratelimit-limit')).toBe('3')
    }
    expect((await received()) - before).toBe(3n * 2000n)
  })
})

test.skipIf(!hasAnvil)(
  'behavior: serving threads say what their connections took, and a payment reads again after kill -9',
  async () => {
    const chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    const data = mkdtempSync(join(tmpdir(), 'bookfeed-delivery-'))
    const start = () =>
      startKillableServer({
        BOOKFEED_DATA: data,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_WORKERS: '2',
        BOOKFEED_KEYLESS: 'on',
        BOOKFEED_RPC_URL: chain.url,
        BOOKFEED_PAY_TO: chain.payee.address,
        BOOKFEED_FACILITATOR: 'local',
        BOOKFEED_GAS_KEY: chain.facilitator.key,
      })
    let server = await start()
    try {
      const buyer = await newBuyer(chain)
      const headers = await payFor(server.origin + LIST, buyer, chain)
      const statusAt = async (path: string) => (await ask(server.origin + path, { headers })).status
      expect(await statusAt(LIST)).toBe(200)
      using ledger = openLedger(join(data, 'ledger.db'), { nowMs: wallClock(), isReadOnly: true })
      const account = ledger.findAccountByAddress(buyer.address.toLowerCase())
      const [payment] = ledger.payments.listPayments({ accountId: account?.id ?? '', limit: 1 })
      const deliveredMs = () => ledger.payments.findPaidAnswer(payment?.id ?? '')?.deliveredMs
      await until(() => deliveredMs() !== undefined)
      // All threads, and the next process, know what the payment is for.
      for (let asked = 0; asked < 4; asked++) expect(await statusAt(LIST)).toBe(200)
      expect(await statusAt(`${LIST}?limit=1`)).toBe(409)
      await server.kill()
      server = await start()
      expect(await statusAt(LIST)).toBe(200)
      expect(await statusAt(`${LIST}?limit=1`)).toBe(409)
      expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(LIST_PRICE)
    } finally {
      await server.kill()
      await chain.stop()
      rmSync(data, { recursive: true })
    }
  },
)
