/**
 * `bun test/bench/payments.ts`: what a purchase costs, on a chain of this machine. Prints Markdown;
 * progress goes to standard error.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startFacilitatorProcess } from '#dev/sandbox/http-facilitator.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { OFFER_LIFE_MS } from '#src/domain/selling/payment.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import type { LedgerTransaction } from '#src/ledger/ledger.ts'

import { addCustomer, type PaidServer, type QuoteAnswer } from '../support/paid-server.ts'
import { median } from './measure.ts'
import { describeMachine, toFacts } from './report.ts'
import { startServer } from './server-process.ts'
import { openShop } from './timed-shop.ts'

const ROUNDS = 50
const WARM_UPS = 10
const START_ROUNDS = 15
const OPEN_OFFERS = 9_800
const DAY_MS = 86_400_000

type Fact = readonly [string, string]

const toMs = (values: readonly number[]) => `${median(values).toFixed(2)} ms`
const progress = (line: string) => console.error(line)

/** From the request to its answer, over HTTP on one machine. */
async function measureQuotes(shop: PaidServer): Promise<number[]> {
  const times: number[] = []
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    const customer = await addCustomer(shop, { funds: 0n })
    const startedAt = performance.now()
    await customer.quote('pro')
    if (round >= 0) times.push(performance.now() - startedAt)
  }
  return times
}

/**
 * Makes an offer of the same tier and token as another one, each to an
 * account that looks and does not pay.
 */
function createOpener({ ledger }: PaidServer, { quoteId }: QuoteAnswer) {
  const offer = ledger.payments.findOffer(quoteId)
  if (!offer) throw new Error('There is no offer.')
  const nowMs = Date.now()
  let number = 0
  return (transaction: LedgerTransaction): void => {
    const id = String(number++)
    const accountId = `acc_bench${id}`
    transaction.createAccount({ id: accountId }, { actor: 'system', nowMs })
    transaction.payments.openOffer(
      { ...offer, accountId, id: `quote_bench${id}`, expiresMs: nowMs + OFFER_LIFE_MS },
      {
        atomic: 49_000_000n,
        reservedUntilMs: nowMs + DAY_MS,
        offersMax: Number.POSITIVE_INFINITY,
        uniqueMax: Number.POSITIVE_INFINITY,
        usableUntilMs: Number.POSITIVE_INFINITY,
      },
      { actor: 'system', nowMs },
    )
  }
}

/** In the ledger alone, each with its commit. */
function measureOffers(
  { ledger }: PaidServer,
  open: (transaction: LedgerTransaction) => void,
): Promise<number[]> {
  return Array.fromAsync({ length: ROUNDS }, async () => {
    const startedAt = performance.now()
    await ledger.atomically(open)
    return performance.now() - startedAt
  })
}

async function measureQuote(chain: LittlePolygon, facilitator: Facilitator): Promise<Fact[]> {
  const shop = await openShop(chain, facilitator)
  try {
    const few = await measureQuotes(shop)
    const { quote } = await addCustomer(shop, { funds: 0n })
    const open = createOpener(shop, await quote('pro'))
    await shop.ledger.atomically((transaction) => {
      for (let number = 0; number < OPEN_OFFERS; number++) open(transaction)
    })
    return [
      ['quote', toMs(few)],
      [`quote, with ${OPEN_OFFERS} open offers of the same price`, toMs(await measureQuotes(shop))],
      ['of that, the offer in the ledger, commit included', toMs(await measureOffers(shop, open))],
    ]
  } finally {
    await shop.stop()
  }
}

async function measureSettle(chain: LittlePolygon, facilitator: Facilitator, name: string) {
  const shop = await openShop(chain, facilitator)
  const columns = { total: [], own: [], facilitator: [], node: [] } as Record<string, number[]>
  const { watches } = shop
  try {
    for (let round = -WARM_UPS; round < ROUNDS; round++) {
      const customer = await addCustomer(shop)
      const payload = await customer.sign(await customer.quote('pro'))
      for (const watch of Object.values(watches)) watch.take()
      const startedAt = performance.now()
      const { status } = await customer.settle(payload)
      const total = performance.now() - startedAt
      if (status !== 200) throw new Error(`A settlement ended with ${status}.`)
      if (round < 0) continue
      columns.total?.push(total)
      columns.own?.push(total - watches.others.take())
      columns.facilitator?.push(watches.facilitator.take())
      columns.node?.push(watches.node.take())
    }
  } finally {
    await shop.stop()
  }
  return Object.entries(columns).map(([column, values]): Fact => [
    `settle, ${name}: ${column}`,
    toMs(values),
  ])
}

/** From starting the process to the first answer. */
async function measureStart(env: Readonly<Record<string, string>>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-bench-'))
  const own = {
    BOOKFEED_DATA: folder,
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_LOG: 'off',
    ...env,
  }
  const variables = Object.entries(own).map(([name, value]) => `${name}=${value}`)
  const command = (port: number) => [
    'env',
    ...variables,
    `BOOKFEED_PORT=${port}`,
    process.execPath,
    'src/main.ts',
    'serve',
  ]
  const server = await startServer({ command, readyPath: '/healthz' })
  await server.stop()
  rmSync(folder, { recursive: true })
  return server.startMs
}

async function measureStarts({ url, payee, facilitator }: LittlePolygon): Promise<Fact[]> {
  const selling = {
    BOOKFEED_PAY_TO: payee.address,
    BOOKFEED_RPC_URL: url,
    BOOKFEED_FACILITATOR: 'local',
    BOOKFEED_GAS_KEY: facilitator.key,
  }
  const off: number[] = []
  const on: number[] = []
  for (let round = 0; round < START_ROUNDS; round++) {
    off.push(await measureStart({}))
    on.push(await measureStart(selling))
  }
  return [
    ['cold start, nothing sold', toMs(off)],
    ['cold start, selling', toMs(on)],
  ]
}

const chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
const { url: rpcUrl, facilitator } = chain
const other = await startFacilitatorProcess({ rpcUrl, key: facilitator.key })
try {
  progress('remote facilitator')
  const remote = createRemoteFacilitator(other.url)
  const facts = await measureSettle(chain, remote, 'remote')
  progress('local facilitator')
  const local = createLocalFacilitator({ chain: homeChain, rpcUrl, gasKey: facilitator.key })
  facts.push(...(await measureSettle(chain, local, 'local')))
  progress('quotes')
  facts.unshift(...(await measureQuote(chain, remote)))
  progress('cold starts')
  facts.push(...(await measureStarts(chain)))
  console.log(`${describeMachine()}\n\n${toFacts('what a purchase costs', facts)}`)
} finally {
  await other.stop()
  await chain.stop()
}
