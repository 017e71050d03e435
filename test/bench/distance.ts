/**
 * `bun test/bench/distance.ts`: two servers and two recorders some milliseconds away from PostgreSQL,
 * which has a synchronous standby beside it: cached pages while keys are replaced, rotations, signups,
 * purchases, how late a revoked key is refused by the other server, and how old a recorded row is on a
 * stream.
 *
 *   --ms 0,2,10,50   milliseconds that everything takes each way, one column each
 *   --seconds <n>    of each measurement, 6 by default
 */
import { parseArgs } from 'node:util'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { addCustomer, type QuoteAnswer } from '../support/paid-server.ts'
import {
  addDrillKey,
  type ScaleWorld,
  startScaleWorld,
  withLedger,
} from '../support/scale-world.ts'
import { asJson } from '../support/signup-client.ts'
import { describeMachine, toMarkdown } from './report.ts'

const { values } = parseArgs({
  options: {
    ms: { type: 'string', default: '0,2,10,50' },
    seconds: { type: 'string', default: '6' },
  },
})
const distances = values.ms.split(',').map(Number)
const durationMs = Number(values.seconds) * 1000
const PAGE_EVERY_MS = 10
const PURCHASES = 5
/** Callers without a key may send ten requests a minute: a signup takes two, a refused key one. */
const SIGNUPS = 1
const DISTANCE_MS_MIN = 30_000
const REVOCATIONS = 3
const TRIES_MAX = 2000
const SETTLE_MS = 3000
const FUNDS = 10n ** 12n

type Origins = { first: string; second: string }

const originsOf = ({ servers }: ScaleWorld): Origins => {
  const [first = '', second = ''] = servers.map((server) => server.life()?.origin ?? '')
  return { first, second }
}

const asKey = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } })

async function expectStatus(url: string, init: RequestInit, wanted: number): Promise<string> {
  const response = await fetch(url, init)
  const text = await response.text()
  if (response.status !== wanted) throw new Error(`${url}: ${response.status} ${text}`)
  return text
}

const atPart = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(part * (times.length - 1))] ?? Number.NaN

const describe = (times: readonly number[]): string =>
  times.length === 0
    ? 'none'
    : `${atPart(times, 0.5).toFixed(1)}, ${atPart(times, 0.99).toFixed(1)} ms of ${times.length}`

/** Milliseconds that each call takes, one after the other until the time is over or `most` are made. */
async function timeEach(act: () => Promise<void>, most = Number.POSITIVE_INFINITY) {
  const times: number[] = []
  const endMs = performance.now() + durationMs
  while (performance.now() < endMs && times.length < most) {
    const beganMs = performance.now()
    await act()
    times.push(performance.now() - beganMs)
  }
  return times
}

async function signUp(origin: string): Promise<void> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const challenge = asJson({ address: wallet.address })
  const { message } = JSON.parse(await expectStatus(`${origin}/v1/keys/challenge`, challenge, 200))
  const signature = await wallet.signMessage({ message })
  await expectStatus(`${origin}/v1/keys`, asJson({ message, signature }), 201)
}

async function timeRotations(world: ScaleWorld, origin: string): Promise<number[]> {
  let key = await addDrillKey(world)
  const list = await expectStatus(`${origin}/v1/keys`, asKey(key), 200)
  let id = (JSON.parse(list) as { data: { id: string }[] }).data[0]?.id
  return timeEach(async () => {
    const rotation = asJson({ overlapSeconds: 0 }, { authorization: `Bearer ${key}` })
    const text = await expectStatus(`${origin}/v1/keys/${id}/rotate`, rotation, 201)
    ;({ id, key } = JSON.parse(text) as { id: string; key: string })
  })
}

/** At a fixed rate, whatever a page takes. */
async function timePages(origin: string, path: string, key: string): Promise<number[]> {
  const times: number[] = []
  const waiting: Promise<void>[] = []
  const endMs = performance.now() + durationMs
  for (let dueMs = performance.now(); dueMs < endMs; dueMs += PAGE_EVERY_MS) {
    await Bun.sleep(Math.max(0, dueMs - performance.now()))
    const page = expectStatus(origin + path, asKey(key), 200)
    waiting.push(page.then(() => void times.push(performance.now() - dueMs)))
  }
  await Promise.all(waiting)
  return times
}

async function timePurchases(world: ScaleWorld, origin: string): Promise<number[]> {
  const { chain } = world
  const { headers, sign } = await withLedger(world, (ledger) =>
    addCustomer({ ledger, origin: '', chain }, { funds: FUNDS }),
  )
  const wish = { tierId: 'starter', token: 'USDC', anotherPeriod: true, network: chain.network }
  return timeEach(async () => {
    const order = asJson(wish, headers)
    const quote = await expectStatus(`${origin}/v1/billing/x402/quote`, order, 200)
    const paymentPayload = await sign(JSON.parse(quote) as QuoteAnswer)
    const settle = asJson({ paymentPayload }, headers)
    await expectStatus(`${origin}/v1/billing/x402/settle`, settle, 200)
  }, PURCHASES)
}

/** From the answer of the server that revokes a key to the 401 of the other. */
async function timeRevocations(world: ScaleWorld, { first, second }: Origins): Promise<number[]> {
  const times: number[] = []
  for (let number = 0; number < REVOCATIONS; number++) {
    const old = await addDrillKey(world)
    const { data } = JSON.parse(await expectStatus(`${first}/v1/keys`, asKey(old), 200)) as {
      data: { id: string }[]
    }
    await expectStatus(`${second}/v1/usage`, asKey(old), 200)
    const deletion = { method: 'DELETE', ...asKey(old) }
    await expectStatus(`${first}/v1/keys/${data[0]?.id}`, deletion, 204)
    const beganMs = performance.now()
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { status } = await fetch(`${second}/v1/usage`, asKey(old))
      if (status === 401) break
      await Bun.sleep(1)
    }
    times.push(performance.now() - beganMs)
  }
  return times
}

/** How old rows are, by the venue's stamp, when they come on a stream of a server. */
async function timeRows(origin: string, key: string): Promise<number[]> {
  const ages: number[] = []
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, {
    headers: { authorization: `Bearer ${key}` },
  })
  socket.onopen = () =>
    socket.send(JSON.stringify({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }))
  socket.onmessage = ({ data }) => {
    const { type, data: row } = JSON.parse(data) as { type: string; data?: { timestamp: string } }
    if (type === 'row' && row) ages.push(Date.now() - Date.parse(row.timestamp))
  }
  await Bun.sleep(durationMs)
  socket.close()
  return ages
}

async function measure(world: ScaleWorld, key: string, ms: number): Promise<string[]> {
  const origins = originsOf(world)
  const links = [...world.servers, ...world.recorders].flatMap((part) => part.links.slice(0, 1))
  for (const link of links) link.lag(ms)
  await Bun.sleep(SETTLE_MS)
  const path = `/v1/btc/markets/${world.hot}/snapshots?limit=100`
  await expectStatus(origins.first + path, asKey(key), 200)
  const quiet = await timePages(origins.first, path, key)
  const [busy, rotations] = await Promise.all([
    timePages(origins.first, path, key),
    timeRotations(world, origins.first),
  ])
  return [
    describe(quiet),
    describe(busy),
    describe(rotations),
    describe(await timeEach(() => signUp(origins.first), SIGNUPS)),
    describe(await timePurchases(world, origins.first)),
    describe(await timeRevocations(world, origins)),
    describe(await timeRows(origins.second, key)),
  ]
}

async function measureAll(): Promise<string[][]> {
  await using stack = new AsyncDisposableStack()
  const world = await startScaleWorld(stack)
  const key = await addDrillKey(world)
  const columns: string[][] = []
  for (const ms of distances) {
    console.error(`measuring: ${ms} ms each way`)
    const pause = Bun.sleep(DISTANCE_MS_MIN)
    columns.push(await measure(world, key, ms))
    await pause
  }
  return columns
}

const columns = await measureAll()
const names = [
  'cached page',
  'cached page, while keys are rotated',
  'rotation of a key',
  'signup: challenge and key',
  'purchase: quote and settlement',
  'key revoked at one server, refused by the other',
  'row of the recorder on a stream',
]
console.log(await describeMachine())
console.log(
  toMarkdown([
    ['median, 99th percentile', ...distances.map((ms) => `${ms} ms each way`)],
    ...names.map((name, row) => [name, ...columns.map((column) => column[row] ?? '')]),
  ]),
)
process.exit()
