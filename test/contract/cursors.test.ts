/**
 * The bytes of the cursors of every list and stream. Cursors do not expire, so each is written down
 * here: the text that names its list with all filters, and the position that it holds, in hex.
 */

import { afterAll, describe, expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import * as events from '../support/event-server.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness } from '../support/harness.ts'
import * as sockets from '../support/live-client.ts'
import { createMarketHistory, someTicks } from '../support/market-history.ts'
import { createOneFile } from '../support/one-file.ts'
import { readDocument } from '../support/openapi-document.ts'
import { accountOf } from '../support/operation-requests.ts'

/** Version 1, the position, CRC-32 of the list's text, and a seal over these: as of the first release. */
function cursorOf(key: Uint8Array, list: string, position: string): string {
  const sealed = Buffer.from(`01${position}00000000`, 'hex')
  sealed.writeUInt32LE(Bun.hash.crc32(list), sealed.length - 4)
  const seal = new Bun.CryptoHasher('sha256', key).update(sealed).digest().subarray(0, 16)
  return Buffer.concat([sealed, seal]).toString('base64url')
}

/** The position that a cursor holds, in hex. */
const positionIn = (cursor: string | null): string | undefined =>
  cursor === null ? undefined : Buffer.from(cursor, 'base64url').toString('hex').slice(2, -40)

const from = Date.UTC(2026, 0, 1)
const to = from + 200_000
const known = from + 86_400_000

const { history, both } = await createMarketHistory(openHistory(':memory:', { clock: () => from }))
const store = createOneFile()
const files: typeof store = {
  ...store,
  find(series) {
    const list = store.find(series)
    const more = list?.files.map((file) => ({ ...file, name: 'second' })) ?? []
    return list && { ...list, files: [...list.files, ...more] }
  },
}
const harness = createHarness({ history, files, billing: fakeBilling() })
const { send } = harness
const account = accountOf(harness, harness.key)

const id = both.conditionId
const market = `/v1/btc/markets/${id}`
const range = `from=${from}&to=${to}`
const fileName = 'btc-5m-2026-04-14-quotes-decimal-r1.parquet'
const filePosition = Buffer.from(
  `{"timeframe":"5m","day":"2026-04-14","name":"${fileName}"}`,
).toString('hex')
const paymentPosition = `019b7ca98f2f${Buffer.from('pay_pending').toString('hex')}`
/** Of a position at the end of the prices: the greatest id, also of other coins. */
const lastSpotId = history.lastSpotId().toString(16).padStart(12, '0')
const firstMarket = '019b76daa80073696d756c6174656400000000000000872fb4486843cfbe450e4c69c007709c'
const lastMarket = '019b76e863a073696d756c61746564000000000000000276c09db6f5dd8ce41bab7bf88b5ef2'

/** A list as it is asked for, the text of its cursors, and the position after its first page. */
const lists: [path: string, list: string, position: string][] = [
  [`${market}/snapshots?limit=2`, `snapshots ${id} both.asc..`, '019b76d7c468000000000002'],
  [
    `${market}/snapshots?limit=2&outcome=up&order=desc&${range}`,
    `snapshots ${id} up.desc.${from}.${to}`,
    '019b76db8ccc000000000147',
  ],
  [
    `${market}/snapshots?limit=2&interval=1s`,
    `snapshots ${id} both.asc...1s.own..`,
    '019b76d7c468000000000002',
  ],
  [
    `${market}/snapshots?limit=2&depth=3&fields=bids,id`,
    `snapshots ${id} both.asc....own.3.id+bids`,
    '019b76d7c468000000000002',
  ],
  [
    `${market}/snapshots?limit=2&view=consolidated&outcome=down`,
    `snapshots ${id} down.asc....consolidated..`,
    '019b76d7c468000000000002',
  ],
  [`${market}/changes?limit=2`, `changes ${id} both.asc..`, '019b76d7c468000000000002000000000001'],
  [
    `${market}/changes?limit=2&outcome=up&${range}`,
    `changes ${id} up.asc.${from}.${to}`,
    '019b76daa97600000000000b000000000000',
  ],
  [`${market}/quotes?limit=2`, `quotes ${id} both.asc...`, '019b76d7c468000000000002'],
  [
    `${market}/quotes?limit=2&outcome=down&order=desc&${range}&interval=5s`,
    `quotes ${id} down.desc.${from}.${to}.5s`,
    '019b76db6b50000000000002',
  ],
  [
    `${market}/quotes?limit=2&fields=bid,id`,
    `quotes ${id} both.asc....id+bid`,
    '019b76d7c468000000000002',
  ],
  [`${market}/prices?limit=2`, `prices ${id} both.asc...`, '019b76da8933000000000008'],
  [
    `${market}/prices?limit=2&interval=10s&outcome=up`,
    `prices ${id} up.asc...10s`,
    '019b76da80f0000000000001',
  ],
  [`${market}/trades?limit=2`, `trades ${id} both.asc..`, '019b76daa800000000018002'],
  [
    `${market}/trades?limit=2&outcome=up&order=desc&${range}`,
    `trades ${id} up.desc.${from}.${to}`,
    '019b76daa80c000000138001',
  ],
  ['/v1/btc/spot?limit=2', 'spot btc asc.....', '019b76daabe8000000000002'],
  [
    `/v1/btc/spot?limit=2&order=desc&${range}&interval=10s&source=chainlink&window=60`,
    `spot btc desc.${from}.${to}.10s.chainlink.60`,
    '019b76dafa08000000000016',
  ],
  ['/v1/btc/spot', 'spot btc asc.....', `019b76db4058000000000028${lastSpotId}`],
  ['/v1/btc/markets?limit=1', 'markets btc', lastMarket],
  ['/v1/btc/markets?limit=1&order=asc', 'markets btc asc', firstMarket],
  [
    `/v1/btc/markets?timeframe=5m&status=resolved&outcome=up&source=all&from=${from}&to=${known}`,
    `markets btc timeframe=5m status=resolved fromMs=${from} toMs=${known} winner=up source=all`,
    `019b7c010400${'0'.repeat(64)}`,
  ],
  ['/v1/btc/markets?limit=1&withBooks=true', 'markets btc withBooks=true', lastMarket],
  ['/v1/btc/markets?limit=1&withBooks=false', 'markets btc', lastMarket],
  ['/v1/btc/settlements?limit=1', 'settlements btc ...desc..', lastMarket],
  [
    `/v1/btc/settlements?limit=1&order=asc&timeframe=5m&source=all&agreement=unknown&from=${from}&to=${known}`,
    `settlements btc 5m.all.unknown.asc.${from}.${known}`,
    firstMarket,
  ],
  ['/v1/btc/panel?limit=1&timeframe=5m&offsets=-60s,-5s', 'panel btc 5m -60s,-5s   ', firstMarket],
  [
    `/v1/btc/panel?limit=1&timeframe=5m&offsets=-60s&${range}&maxAgeMs=1000&source=all`,
    `panel btc 5m -60s ${from} ${to} 1000 all`,
    firstMarket,
  ],
  ['/v1/revisions?limit=1', 'revisions all ', '000000000000000000000001'],
  [
    `/v1/revisions?limit=1&coin=btc&since=${from}`,
    `revisions btc ${from}`,
    '000000000000000000000001',
  ],
  ['/v1/manifests?limit=1', 'manifests', '000000000000000000000001'],
  ['/v1/btc/files?limit=1', 'files btc    ', filePosition],
  [
    '/v1/btc/files?limit=1&timeframe=5m&day=2026-04-14&kind=quotes&numbers=decimal',
    'files btc 5m 2026-04-14 quotes decimal',
    filePosition,
  ],
  ['/v1/billing/payments?limit=1', `payments ${account}`, paymentPosition],
]

/** Those whose cursor is in their body alone. */
const withoutResume = /\/files|\/payments|\/settlements/
/** Those that have no row here, so the position is where they begin. */
const withoutRows = /status=resolved/

describe('cursors of lists', () => {
  test.each(lists)('default: %s', async (path, list, position) => {
    const response = await send(path)
    expect(response.status).toBe(200)
    const { nextCursor, data } = (await response.json()) as {
      nextCursor: string | null
      data: unknown[]
    }
    if (!withoutRows.test(path)) expect(data).not.toEqual([])
    const expected = cursorOf(history.cursorKey, list, position)
    const resume = response.headers.get('x-resume-cursor')
    // A new row gets the position that this prints.
    expect({ position: positionIn(resume ?? nextCursor) }).toEqual({ position })
    expect(resume).toBe(withoutResume.test(path) ? null : expected)
    expect([expected, null]).toContain(nextCursor)
    const separator = path.includes('?') ? '&' : '?'
    expect((await send(`${path}${separator}cursor=${expected}`)).status).toBe(200)
  })

  test('behavior: no list with a cursor is left out', async () => {
    const { entries } = await readDocument(send)
    const withCursor = entries
      .filter(({ parameters = [] }) => parameters.some(({ name }) => name === 'cursor'))
      .map(({ path }) => path.replace('{coin}', 'btc').replace('{conditionId}', id))
      .filter((path) => !path.endsWith('/live'))
    const paths = lists.map(([path]) => path.replace(/\?.*/, ''))
    expect(new Set(paths)).toEqual(new Set(withCursor))
  })
})

const one = conditionIdOf(1)
const books = [1, 2].flatMap((number) =>
  outcomes.map((outcome, index) =>
    aSnapshot({
      conditionId: conditionIdOf(number),
      timeframe: number === 1 ? '5m' : '15m',
      outcome,
      timestampMs: START_MS + number * 1000 + index,
    }),
  ),
)
const trade = {
  timestampMs: START_MS,
  price: 500_000,
  outcome: 'up',
  size: 1,
  side: 'buy',
} as const
const trades = [trade, { ...trade, price: 600_000 }]

const allMarkets = '8280adf0f68404b486a704a21f088080adf0f68404c0c0ed04d20f04'

/** What is followed, the text of the cursors of its events, and the position in the first of them. */
const followed: [path: string, list: string, position: string][] = [
  [`/v1/btc/markets/${one}/live`, `snapshots ${one} both.asc..`, '019d8b0123e9000000000002'],
  [
    `/v1/btc/markets/${one}/live?outcome=up&depth=2`,
    `snapshots ${one} up.asc....own.2.`,
    '019d8b0123e9000000000002',
  ],
  [
    `/v1/btc/markets/${one}/live?channel=quotes`,
    `quotes ${one} both.asc...`,
    '019d8b0123e9000000000002',
  ],
  [
    `/v1/btc/markets/${one}/live?channel=prices&outcome=down`,
    `prices ${one} down.asc...`,
    '019d8b0123e9000000000002',
  ],
  [
    `/v1/btc/markets/${one}/live?channel=trades`,
    `trades ${one} both.asc..`,
    '019d8b012000000000017fff',
  ],
  ['/v1/btc/live', 'live btc undefined snapshots undefined undefined', allMarkets],
  [
    '/v1/btc/live?channel=quotes&timeframe=5m&outcome=up',
    'live btc 5m quotes up undefined',
    '8080adf0f68404c0c0ed04d20f04',
  ],
  ['/v1/btc/live?depth=3', 'live btc undefined snapshots undefined 3', allMarkets],
]

/** The same of subscriptions over WebSocket. */
const subscribed: [asked: object, list: string, position: string][] = [
  [{ channel: 'spot' }, 'spot btc asc.....', '019b76dab3b8000000000004000000000004'],
  [
    { channel: 'spot', source: 'chainlink', window: 60 },
    'spot btc asc....chainlink.60',
    '019b76dab3b8000000000004000000000004',
  ],
  [
    { channel: 'quotes', conditionId: one },
    `quotes ${one} both.asc...`,
    '019d8b0123e9000000000002',
  ],
  [
    { channel: 'snapshots', conditionId: one, depth: 1 },
    `snapshots ${one} both.asc....own.1.`,
    '019d8b0123e9000000000002',
  ],
]

describe('cursors of streams', async () => {
  const live = await events.startServer()
  await events.putMarket(live.history, 2, { timeframe: '15m' })
  await events.append(live.history, books)
  await live.history.putTrades({ id: 'trades', conditionId: one, trades })
  const server = sockets.startLiveServer()
  await server.history.putSpot(someTicks('btc', 4))
  await sockets.putMarket(server.history)
  await sockets.append(server.history, books.slice(0, 2))
  const client = sockets.connect(server.url, server.key)

  afterAll(async () => {
    await events.closeAll()
    sockets.closeAll()
  })

  test.each(followed)('default: %s', async (path, list, position) => {
    const stream = await live.follow(path)
    const ids = () => stream.events().flatMap((event) => event.id ?? [])
    await stream.until(() => ids().length > 0)
    expect(ids()[0]).toBe(cursorOf(live.history.cursorKey, list, position))
  })

  test.each(subscribed)('default: subscribe %o', async (asked, list, position) => {
    await client.send({ op: 'subscribe', id: crypto.randomUUID(), coin: 'btc', ...asked })
    const messages = await client.until(({ cursor }) => cursor !== undefined)
    const expected = cursorOf(server.history.cursorKey, list, position)
    expect(messages.at(-1)?.cursor).toBe(expected)
  })
})
