/** What uses a world of several machines while parts of it die, and what it was answered. */
import { SQL } from 'bun'

import { toIso } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/ledger.ts'

import { addCustomer, type Customer, type Payload, type QuoteAnswer } from './paid-server.ts'
import type { GivenAnswer } from './payment-invariants.ts'
import { addDrillKey, type ScaleServer, type ScaleWorld, withLedger } from './scale-world.ts'
import { asJson } from './signup-client.ts'
import { systemClock } from './venue/venue.ts'

const BUYERS = 2
const READERS = 1
const READ_EVERY_MS = 50
const RETRY_MS = 100
const TRIES_MAX = 400
const LOOK_MS = 100
const LOOKS_MAX = 600
/** What has to happen after each fault. */
const [ROWS_LEAST, PURCHASES_LEAST] = [30, 1]
const FUNDS = 10n ** 12n
/** Each purchase is meant as one of its own. */
const WISH = { tierId: 'starter', token: 'USDC', anotherPeriod: true }
const QUOTE = '/v1/billing/x402/quote'
const SETTLE = '/v1/billing/x402/settle'

type What = 'page' | 'hot' | 'purchase'
type Answer = { status: number; text: string; headers: Headers }
type Row = { id: string; timestamp: string }

export const pageOf = (conditionId: string, query = 'limit=100&order=desc'): string =>
  `/v1/btc/markets/${conditionId}/snapshots?${query}`

/** A careful client: it asks another server where one died, and again where it is asked to. */
function createClient(servers: readonly ScaleServer[]) {
  const failures: { what: What; failure: string }[] = []
  const faults: string[] = []
  let turn = 0
  return {
    failures,
    faults,

    /** Of the next server; undefined if it is dead, or dies meanwhile. */
    async ask(what: What, path: string, init: RequestInit): Promise<Answer | undefined> {
      const server = servers[turn++ % servers.length]
      const life = server?.life()
      if (life === undefined) return undefined
      try {
        const answer = await fetchText(life.origin + path, init)
        const { status, text, headers } = answer
        if (status >= 500) failures.push({ what, failure: `${status} ${text}` })
        const isPassing = status === 503 && headers.has('retry-after')
        if (status >= 500 && !isPassing) faults.push(`${path}: ${status} ${text}`)
        return answer
      } catch (error) {
        if (server?.life() === life) faults.push(`${path}: ${error}`)
        return undefined
      }
    },
  }
}

async function fetchText(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

type Client = ReturnType<typeof createClient>

/** Reads the newest page of every market, and one of old books that all servers have in memory. */
function createReader({ venue, hot }: ScaleWorld, { ask, faults }: Client, key: string) {
  const rows = new Map<string, string>()
  const init = { headers: { authorization: `Bearer ${key}` } }
  async function readMarket(conditionId: string): Promise<void> {
    const answer = await ask('page', pageOf(conditionId), init)
    if (answer?.status !== 200) return
    for (const row of (JSON.parse(answer.text) as { data: Row[] }).data) {
      const [text, known] = [JSON.stringify(row), rows.get(row.id)]
      if (known !== undefined && known !== text) faults.push(`${row.id} was another row before.`)
      rows.set(row.id, text)
    }
  }
  return {
    rows,
    async read(): Promise<void> {
      for (const { conditionId } of venue.markets()) await readMarket(conditionId)
      await ask('hot', pageOf(hot), init)
      await Bun.sleep(READ_EVERY_MS)
    },
  }
}

/** Buys a period with a wallet of its own, and insists on what it has signed. */
function createBuyer({ chain }: ScaleWorld, { ask, faults }: Client) {
  const signed: { payer: string; amount: bigint }[] = []
  const given: GivenAnswer[] = []
  const state = { bought: 0 }

  async function insist(path: string, init: RequestInit, note?: (status: number) => void) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await ask('purchase', path, init)
      if (answer) note?.(answer.status)
      if (answer?.status === 200) return JSON.parse(answer.text) as unknown
      if (answer && ![202, 503].includes(answer.status)) {
        faults.push(`${path}: ${answer.status} ${answer.text}`)
        return undefined
      }
      await Bun.sleep(RETRY_MS)
    }
    faults.push(`${path}: never 200`)
    return undefined
  }

  return {
    signed,
    given,
    state,
    async buy({ headers, wallet, sign }: Customer): Promise<void> {
      const order = asJson({ ...WISH, network: chain.network }, headers)
      const quote = (await insist(QUOTE, order)) as QuoteAnswer | undefined
      if (quote === undefined) return
      const paymentPayload: Payload = await sign(quote)
      const payer = wallet.address.toLowerCase()
      const { nonce } = paymentPayload.payload.authorization as { nonce: string }
      signed.push({ payer, amount: BigInt(quote.paymentRequirements.amount) })
      const submitted = asJson({ paymentPayload }, headers)
      await insist(SETTLE, submitted, (status) => given.push({ payer, nonce, status }))
      state.bought++
    },
  }
}

/** Accounts with a wallet and money; what is granted to them allows many calls. */
async function addBuyers(world: ScaleWorld): Promise<Customer[]> {
  const { chain } = world
  const customers: Customer[] = []
  for (let number = 0; number < BUYERS; number++) {
    const customer = await withLedger(world, (ledger) =>
      addCustomer({ ledger, origin: '', chain }, { funds: FUNDS }),
    )
    customers.push(customer)
  }
  withLedger(world, (ledger) => {
    for (const { accountId } of customers) {
      const grant = { id: `sub_of_${accountId}`, accountId, tierId: 'enterprise', startMs: 0 }
      ledger.addSubscription(grant, byOperator(systemClock()))
    }
  })
  return customers
}

export type Load = Awaited<ReturnType<typeof startLoad>>

/** Begins to read and to buy. */
export async function startLoad(world: ScaleWorld) {
  const client = createClient(world.servers)
  const key = addDrillKey(world)
  const { rows, read } = createReader(world, client, key)
  const { signed, given, state, buy } = createBuyer(world, client)
  const buyers = await addBuyers(world)
  let isOver = false
  const repeat = async (act: () => Promise<void>): Promise<void> => {
    while (!isOver) await act()
  }
  const loops = [
    ...Array.from({ length: READERS }, () => repeat(read)),
    ...buyers.map((buyer) => repeat(() => buy(buyer))),
  ]
  return {
    ...{ key, rows, signed, given, buyers, faults: client.faults },

    /** Waits until rows of after now were read, and purchases made. */
    async progress(): Promise<void> {
      const [now, bought] = [toIso(world.venue.nowMs()), state.bought]
      const newRows = () =>
        [...rows.values()].filter((text) => (JSON.parse(text) as Row).timestamp > now).length
      const isEnough = () => newRows() >= ROWS_LEAST && state.bought - bought >= PURCHASES_LEAST
      for (let looks = 0; !isEnough(); looks++) {
        if (looks < LOOKS_MAX) await Bun.sleep(LOOK_MS)
        else
          throw new Error(`Since ${now} ${newRows()} rows and ${state.bought - bought} purchases`)
      }
    },

    /** Begins a time; returns what asks for the failures in it. */
    mark() {
      const from = client.failures.length
      return (...whats: What[]): string[] =>
        client.failures
          .slice(from)
          .flatMap(({ what, failure }) => (whats.includes(what) ? failure : []))
    },

    /** Resolves when all that was signed is bought. */
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(loops)
    },
  }
}

const WATCH_MS = 50

/** The longest time in which no recorded row was committed, as another client of the database. */
export function watchCommits({ postgres }: ScaleWorld) {
  let [isOver, seen, sinceMs, longestMs] = [false, '', performance.now(), 0]
  const note = (found: string): void => {
    if (found === seen) return
    longestMs = Math.max(longestMs, performance.now() - sinceMs)
    ;[seen, sinceMs] = [found, performance.now()]
  }
  async function watch(): Promise<void> {
    await using sql = new SQL(postgres.url, { max: 1, connectionTimeout: 1 })
    while (!isOver) {
      const [row] = await sql`SELECT sum(snapshots) AS held FROM bookfeed.coin_total`
      note(String(row.held))
      await Bun.sleep(WATCH_MS)
    }
  }
  const watching = (async () => {
    // A connection ends with its primary.
    while (!isOver) await watch().catch(() => Bun.sleep(WATCH_MS))
  })()
  return async (): Promise<number> => {
    isOver = true
    await watching
    return Math.max(longestMs, performance.now() - sinceMs)
  }
}
