/**
 * Requests drawn from the served API document, over raw sockets, against the server as it is run:
 * every method, spelling, host and key. Whatever is sent, the status, the code, the headers and the
 * body of the answer are documented, nothing is 500, and the server lives.
 * `FUZZ_REQUESTS=300000 FUZZ_SEED=2 bun test test/contract/fuzz-socket.test.ts` is the long run.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc, { type Arbitrary } from 'fast-check'

import { digestOf } from '#src/domain/selling/api-key.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { textOf } from '../support/event-client.ts'
import { type Call, callsOf, type Ground } from '../support/fuzz-calls.ts'
import { isUsual, type Twist, twistsOf } from '../support/fuzz-twists.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'
import {
  type Entry,
  expectDocumented,
  faultsOf,
  readDocument,
} from '../support/openapi-document.ts'
import { addSpareKey } from '../support/operation-requests.ts'
import { createRawClient, type RawAnswer, type RawClient } from '../support/raw-client.ts'
import { createSigner } from '../support/signup-client.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { FUZZ_REQUESTS = '1000', FUZZ_SEED = '1' } = process.env
const REQUESTS = Number(FUZZ_REQUESTS)
const SEED = Number(FUZZ_SEED)
const CONNECTIONS = 8
const PER_DRAW = 40
const FAULTS_MAX = 20
const TOLD_EVERY = 10_000
/** Longer bodies are not held against their schema each time. */
const CHECKED_LENGTH_MAX = 100_000
const MS_PER_REQUEST_MAX = 100

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-fuzz-'))
writeFileSync(join(folder, 'SDN.XML'), sdnXml())
const server = await startKillableServer({
  BOOKFEED_DATA: folder,
  BOOKFEED_PORT: '0',
  BOOKFEED_LOG: 'off',
  BOOKFEED_SANCTIONS_LIST: join(folder, 'SDN.XML'),
  BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
  BOOKFEED_SIGNUPS_PER_DAY: '1000000',
})
const port = Number(new URL(server.origin).port)
const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })

afterAll(async () => {
  ledger.dispose()
  await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

const by = { actor: 'operator', nowMs: NOW_MS } as const
/**
 * A key of each tier, with more requests a minute than are made; one with few, one that has ended.
 */
const keys = defaultTiers.map((tier) => addKey(ledger, { ...tier, requestsPerMinute: 1_000_000 }))
const best = keys.at(-1) ?? ''
const [free] = defaultTiers
if (free === undefined) throw new Error('There is a free tier.')
const slow = addKey(ledger, { ...free, rank: 90, tierId: 'slow' })
const ended = addKey(ledger, 'pro')
await ledger.revokeKey(ledger.findKeyByDigest(digestOf(ended))?.id ?? '', by)

const send = (path: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${best}`)
  return fetch(server.origin + path, { ...init, headers })
}
const { document, entries } = await readDocument(send)
const ground = await readGround()

async function readGround(): Promise<Ground> {
  const list = (await (await send('/v1/btc/markets?limit=5&withBooks=true')).json()) as {
    data: { conditionId: string; firstSnapshotAt: string | null }[]
  }
  const markets = list.data.map(({ conditionId }) => ({ coin: 'btc', conditionId }))
  const pages = await Promise.all(
    markets.map(({ conditionId }) => send(`/v1/btc/markets/${conditionId}/snapshots?limit=1`)),
  )
  const rows = (await Promise.all(pages.map((page) => page.json()))) as {
    data: { timestamp: string }[]
  }[]
  return {
    markets,
    cursors: pages.map(({ headers }) => headers.get('x-resume-cursor') ?? ''),
    timesMs: rows.map(({ data }) => Date.parse(data[0]?.timestamp ?? '')),
    signups: await Promise.all(Array.from({ length: 20 }, () => createSigner(send).signed())),
  }
}

type Drawn = { entry: Entry; call: Call; twist: Twist; from: number }

const drawsOf = (entry: Entry): Arbitrary<Drawn> =>
  fc.record({
    entry: fc.constant(entry),
    call: callsOf(ground, entry),
    twist: twistsOf({ all: keys, best, slow, ended }),
    from: fc.integer({ min: 1, max: 60_000 }),
  })

/** The key that is asked for is one that nobody needs, of the account that asks. */
function idOf({ path }: Entry, { authorization = '' }: Twist): string {
  const token = authorization.replace(/^Bearer /, '')
  if (path.includes('/payments/') || !keys.includes(token)) return 'key_nobody'
  return addSpareKey({ ledger, key: best }, token)
}

function toBytes({ entry, call, twist, from }: Drawn): Uint8Array {
  const path = entry.path.includes('{id}')
    ? call.path.replace('{id}', () => idOf(entry, twist))
    : call.path
  const target = twist.spell(call.query === '' ? path : `${path}?${call.query}`)
  const method = twist.method ?? entry.method
  const { body, name } = call
  const lines = [
    `${method} ${target} HTTP/${twist.version}`,
    twist.host,
    twist.authorization === undefined ? '' : `Authorization: ${twist.authorization}`,
    `X-Forwarded-For: 198.51.${from >> 8}.${from & 0xff}`,
    ...Object.entries(call.headers).map(([header, value]) => `${header}: ${value}`),
    name === undefined ? '' : `Idempotency-Key: ${name}`,
    body?.contentType === undefined ? '' : `Content-Type: ${body.contentType}`,
    body === undefined ? '' : `Content-Length: ${body.bytes.length}`,
  ]
  const head = `${lines.filter((line) => line !== '').join('\r\n')}\r\n${twist.more}\r\n`
  // A body that never comes would only be waited for.
  const none = twist.more.includes('chunked') ? '0\r\n\r\n' : ''
  return Buffer.concat([Buffer.from(head, 'latin1'), body?.bytes ?? Buffer.from(none)])
}

/** Refusals of any request, by their codes. */
const ofFrontDoor: Record<number, string[]> = {
  400: ['invalid_request', 'invalid_parameter'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  413: ['payload_too_large'],
  429: ['rate_limited'],
}
/** What Bun refuses by itself, without a body. */
const bare = [400, 413, 414, 431, 505]
const promised = [
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
]

/** Throws for whatever is not documented; returns what is told of the answer. */
async function judge({ entry, twist }: Drawn, answer: RawAnswer | undefined): Promise<string> {
  // Two lengths, or none that can be read, are an attack on whoever stands before us: cut off.
  if (answer === undefined) {
    if (isUsual(twist)) throw new Error('closed without an answer')
    return 'closed'
  }
  const { status, headers } = answer
  if (!headers.has('x-request-id')) {
    if (!bare.includes(status) || answer.body.length > 0) throw new Error(`bare ${status}`)
    return `bare ${status}`
  }
  return judgeOurs({ entry, twist }, answer)
}

async function judgeOurs({ entry, twist }: Pick<Drawn, 'entry' | 'twist'>, answer: RawAnswer) {
  const { status, headers } = answer
  if (status === 500) throw new Error('status 500')
  const isJson = headers.get('content-type') === 'application/json'
  const missing = [...promised, ...(isJson ? [] : ['x-content-type-options'])].filter(
    (name) => !headers.has(name),
  )
  if (missing.length > 0) throw new Error(`without ${missing}`)
  if (twist.method === 'HEAD') return `HEAD ${status}`
  // Outside of the API a browser gets a page.
  if (status === 404 && headers.get('content-type')?.startsWith('text/html')) return '404 page'
  const text = textOf(headers, answer.body)
  const code = status < 400 ? '' : readCode(text)
  if (ofFrontDoor[status]?.includes(code)) return `${status} ${code}`
  // Another method is another operation, or none.
  if (twist.method === undefined && text.length < CHECKED_LENGTH_MAX) {
    const isEmpty = status === 204 || status === 304
    for (const name of ofConnection) headers.delete(name)
    const body = isEmpty ? null : text
    await expectDocumented(document, entry, new Response(body, { status, headers }))
  }
  return `${status} ${code}`.trim()
}

/** The code of a whole problem document. */
function readCode(text: string): string {
  const problem = JSON.parse(text) as { code: string }
  const faults = faultsOf(document, problemSchema, problem)
  if (faults.length > 0) throw new Error(faults.join('; '))
  return problem.code
}

const ofConnection = ['connection', 'transfer-encoding']
const problemSchema =
  entries[0]?.responses[500]?.content?.['application/problem+json']?.schema ?? {}

/** What became of the requests so far. */
type Tally = { sent: number; rounds: number; told: Map<string, number>; faults: string[] }

const draws = entries.map(drawsOf)

/** Sends request after request on one connection, until all are sent or many failed. */
async function work(tally: Tally): Promise<void> {
  const client = createRawClient(port)
  while (tally.sent < REQUESTS && tally.faults.length < FAULTS_MAX) {
    const seed = SEED * 1_000_000 + tally.rounds
    const drawing = draws[tally.rounds++ % draws.length]
    if (drawing === undefined) break
    for (const drawn of fc.sample(drawing, { numRuns: PER_DRAW, seed })) {
      if (tally.sent >= REQUESTS) break
      if (++tally.sent % TOLD_EVERY === 0) tell(tally)
      await tryOne({ tally, client, drawn, seed })
      // What was left of it on the connection is not the next one's.
      if (!isUsual(drawn.twist)) client.close()
    }
  }
  client.close()
}

type Try = { tally: Tally; client: RawClient; drawn: Drawn; seed: number }

async function tryOne({ tally: { told, faults }, client, drawn, seed }: Try): Promise<void> {
  const bytes = toBytes(drawn)
  try {
    const name = await judge(drawn, await client.ask(bytes, drawn.twist.method === 'HEAD'))
    told.set(name, (told.get(name) ?? 0) + 1)
  } catch (error) {
    const shown = Buffer.from(bytes).toString('latin1').slice(0, 600)
    faults.push(`seed ${seed}: ${error}\n${shown}`)
  }
}

const tell = ({ sent, told, faults }: Tally): void =>
  void process.stderr.write(
    `${sent} sent, ${faults.length} faults: ${JSON.stringify(Object.fromEntries(told))}\n`,
  )

describe('any request, byte for byte', () => {
  test(
    `fuzz: ${REQUESTS} are answered as documented (seed ${SEED})`,
    async () => {
      const tally: Tally = { sent: 0, rounds: 0, told: new Map(), faults: [] }
      await Promise.all(Array.from({ length: CONNECTIONS }, () => work(tally)))
      expect(tally.faults).toEqual([])
      const failures = server
        .errors()
        .split('\n')
        .filter((line) => line.includes('"status":500'))
      expect(failures).toEqual([])
      expect((await fetch(`${server.origin}/readyz`)).status).toBe(200)
      // A draw that is always refused would prove nothing.
      expect(tally.told.get('200') ?? 0).toBeGreaterThan(REQUESTS / 10)
    },
    120_000 + REQUESTS * MS_PER_REQUEST_MAX,
  )
})
