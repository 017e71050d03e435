/**
 * A load on several machines while parts of them fail: it appends, reads, buys, and rotates and
 * revokes keys. It records acknowledgements, and anything that no client should see.
 */
import { digestOf } from '#src/domain/selling/api-key.ts'
import { byOperator } from '#src/ledger/actor.ts'

import { conditionIdOf } from '../history/books.ts'
import { addCustomer, type Customer, type Payload, type QuoteAnswer } from './paid-server.ts'
import type { GivenAnswer } from './payment-invariants.ts'
import { addDrillKey, portOf, type ScaleWorld, withLedger } from './scale-world.ts'
import { asJson } from './signup-client.ts'
import { systemClock } from './venue/venue.ts'

const BUYERS = 2
const APPEND_EVERY_MS = 100
const READ_EVERY_MS = 100
const KEY_EVERY_MS = 200
const RETRY_MS = 100
const TRIES_MAX = 600
const ANSWER_MS_MAX = 15_000
const FUNDS = 10n ** 12n
/** Each purchase requests a separate period. */
const WISH = { tierId: 'starter', token: 'USDC', anotherPeriod: true }
const QUOTE = '/v1/billing/x402/quote'
const SETTLE = '/v1/billing/x402/settle'
const appender = new URL('append-process.ts', import.meta.url).pathname

export const kinds = ['append', 'key', 'revocation', 'payment', 'page'] as const
export type Kind = (typeof kinds)[number]
type What = 'page' | 'hot' | 'purchase' | 'key'
export type Answer = { status: number; text: string; headers: Headers }
export type Row = {
  id: string
  timestamp: string
  outcome: string
  bids: { price: number; size: number }[]
}
type Key = { id: string; key: string }

export const pageOf = (conditionId: string, query = 'limit=100&order=desc'): string =>
  `/v1/btc/markets/${conditionId}/snapshots?${query}`

/** The market of the appended rows, whose newest row is from the last batch. */
export const appended = conditionIdOf(2)

export async function request(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX), ...init })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

export const asKey = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } })

export type Load = Awaited<ReturnType<typeof startLoad>>

/** Begins to append, read, buy and change keys. */
export async function startLoad(world: ScaleWorld) {
  const { servers, venue, hot, chain, postgres, s3 } = world
  const acknowledged: { kind: Kind; atMs: number }[] = []
  /** Errors that a client must tolerate, such as a 503 that requests a retry. */
  const errors: { what: What; error: string }[] = []
  const findings: string[] = []
  const appends = new Map<number, { atMs: number }>()
  const rows = new Map<string, string>()
  const keys: { key: string; atMs: number; revokedMs?: number }[] = []
  const signed: { payer: string; amount: bigint }[] = []
  const given: GivenAnswer[] = []
  const readings = { sent: 0, answered: 0 }
  let isOver = false
  let turn = 0
  const note = (kind: Kind): void => void acknowledged.push({ kind, atMs: performance.now() })

  /** A response of the next server; undefined if it is dead, suspended, or dies meanwhile. */
  async function ask(what: What, path: string, init: RequestInit): Promise<Answer | undefined> {
    const server = servers[turn++ % servers.length]
    const life = server?.life()
    if (life === undefined || server === undefined) return undefined
    try {
      const answer = await request(life.origin + path, init)
      const { status, text, headers } = answer
      if (status === 429 || status >= 500) errors.push({ what, error: `${status} ${codeOf(text)}` })
      const isPassing = status === 503 && headers.has('retry-after')
      if (status >= 500 && !isPassing) findings.push(`${path}: ${status} ${text}`)
      return answer
    } catch (error) {
      const { name, message } = error as Error
      errors.push({ what, error: name === 'TimeoutError' ? 'no answer in 15 s' : message })
      const isExcused = server.life() !== life || server.isSuspended() || name === 'TimeoutError'
      if (!isExcused) findings.push(`${path}: ${error}, from a server that runs`)
      return undefined
    }
  }

  /** Repeats a request, at another server after a failure, until the status is one of these. */
  async function insist(
    what: What,
    path: string,
    init: RequestInit,
    {
      wanted,
      passing,
      listen,
    }: {
      wanted: number
      passing: readonly number[]
      listen?: (status: number) => void
    },
  ): Promise<string | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask(what, path, init)
      if (answer !== undefined) listen?.(answer.status)
      if (answer?.status === wanted) return answer.text
      if (answer !== undefined && !passing.includes(answer.status)) {
        findings.push(`${path}: ${answer.status} ${answer.text}`)
        return undefined
      }
      await Bun.sleep(RETRY_MS)
    }
    findings.push(`${path}: never ${wanted}`)
    return undefined
  }

  /** Reads the newest page of every market, and one of old books. */
  async function read(): Promise<void> {
    const page = async (what: What, conditionId: string) => {
      readings.sent++
      const answer = await ask(what, pageOf(conditionId), asKey(reader))
      if (answer?.status !== 200) return
      readings.answered++
      note('page')
      if (what === 'page') noteRows(answer.text)
    }
    for (const { conditionId } of venue.markets()) await page('page', conditionId)
    await page('hot', hot)
    await Bun.sleep(READ_EVERY_MS)
  }

  function noteRows(text: string): void {
    for (const row of (JSON.parse(text) as { data: Row[] }).data) {
      const printed = JSON.stringify(row)
      const known = rows.get(row.id)
      if (known !== undefined && known !== printed) findings.push(`${row.id} was another row.`)
      rows.set(row.id, printed)
    }
  }

  /** Replaces a key by its successor, and revokes it. */
  async function replaceKey(old: Key): Promise<Key> {
    const once = { authorization: `Bearer ${old.key}`, 'idempotency-key': crypto.randomUUID() }
    const rotation = asJson({ overlapSeconds: 3600 }, once)
    const made = { wanted: 201, passing: [429, 503] }
    const text = await insist('key', `/v1/keys/${old.id}/rotate`, rotation, made)
    if (text === undefined) return addKey()
    const next = JSON.parse(text) as Key
    note('key')
    keys.push({ key: next.key, atMs: performance.now() })
    const deletion = { method: 'DELETE', ...asKey(next.key) }
    const gone = { wanted: 204, passing: [429, 503] }
    if ((await insist('key', `/v1/keys/${old.id}`, deletion, gone)) !== undefined) {
      note('revocation')
      const held = keys.find(({ key }) => key === old.key)
      if (held !== undefined) held.revokedMs = performance.now()
    }
    await Bun.sleep(KEY_EVERY_MS)
    return next
  }

  const addKey = async (): Promise<Key> => {
    const key = await addDrillKey(world)
    keys.push({ key, atMs: performance.now() })
    const id = await withLedger(world, (ledger) => ledger.findKeyByDigest(digestOf(key))?.id ?? '')
    return { id, key }
  }

  /** Buys a period with its own wallet, and repeats the signed payment until it is decided. */
  async function buy({ headers, wallet, sign }: Customer): Promise<void> {
    const order = asJson({ ...WISH, network: chain.network }, headers)
    const text = await insist('purchase', QUOTE, order, { wanted: 200, passing: [202, 429, 503] })
    if (text === undefined) return
    const quote = JSON.parse(text) as QuoteAnswer
    const paymentPayload: Payload = await sign(quote)
    const payer = wallet.address.toLowerCase()
    const { nonce } = paymentPayload.payload.authorization as { nonce: string }
    signed.push({ payer, amount: BigInt(quote.paymentRequirements.amount) })
    const listen = (status: number) => void given.push({ payer, nonce, status })
    const receipt = { wanted: 200, passing: [202, 429, 503], listen }
    const submitted = asJson({ paymentPayload }, headers)
    if ((await insist('purchase', SETTLE, submitted, receipt)) !== undefined) note('payment')
  }

  const writerLink = await world.linkTo(() => portOf(postgres.url))
  let writer: Bun.Subprocess | undefined
  /**
   * Appends a batch; one without acknowledgement is repeated, by another process after a failure.
   */
  async function append(): Promise<void> {
    const url = new URL(postgres.url)
    url.port = new URL(writerLink.origin).port
    const next = `${(appends.size > 0 ? Math.max(...appends.keys()) : -1) + 1}`
    const child = Bun.spawn(
      [process.execPath, appender, url.href, next, '1000000', `${APPEND_EVERY_MS}`],
      // Late rows belong to books that the servers may have moved to the bucket.
      { env: { ...s3.env }, stdout: 'pipe', stderr: 'ignore' },
    )
    writer = child
    let rest = ''
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        appends.set(Number(line), { atMs: performance.now() })
        note('append')
      }
    }
    await child.exited
    await Bun.sleep(RETRY_MS)
  }

  const reader = await addDrillKey(world)
  const buyers = await addBuyers(world)
  const repeat = async (act: () => Promise<void>): Promise<void> => {
    while (!isOver) await act()
  }
  let ownKey = await addKey()
  const loops = [
    repeat(append),
    repeat(read),
    repeat(async () => {
      ownKey = await replaceKey(ownKey)
    }),
    ...buyers.map((buyer) => repeat(() => buy(buyer))),
  ]
  return {
    key: reader,
    acknowledged,
    errors,
    findings,
    appends,
    rows,
    keys,
    signed,
    given,
    buyers,
    readings,
    writerLink,

    /** Resolves when everything begun is acknowledged. */
    async stop(): Promise<void> {
      isOver = true
      writer?.kill('SIGKILL')
      await Promise.all(loops)
    },
  }
}

export const codeOf = (text: string): string =>
  /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 60)

/** Accounts with a wallet and money, granted many calls. */
async function addBuyers(world: ScaleWorld): Promise<Customer[]> {
  const { chain } = world
  const customers: Customer[] = []
  for (let number = 0; number < BUYERS; number++) {
    const customer = await withLedger(world, (ledger) =>
      addCustomer({ ledger, origin: '', chain }, { funds: FUNDS }),
    )
    customers.push(customer)
  }
  await withLedger(world, async (ledger) => {
    for (const { accountId } of customers) {
      const grant = { id: `sub_of_${accountId}`, accountId, tierId: 'enterprise', startMs: 0 }
      await ledger.addSubscription(grant, byOperator(systemClock()))
    }
  })
  return customers
}
