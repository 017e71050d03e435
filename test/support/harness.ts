import { closedBilling } from '#src/billing/create-billing.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { coins } from '#src/domain/market.ts'
import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { extensions } from '#src/extensions.ts'
import { createDayFiles } from '#src/extensions/day-files/server.ts'
import { createFileStore, filesPathOf, type FileStore } from '#src/extensions/day-files/store.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { type App, type AppParts, createApp } from '#src/server/app.ts'
import { loadExtensions } from '#src/server/extension.ts'
import type { FirstThreadParts } from '#src/server/first-thread.ts'
import { openPool } from '#src/server/pool-thread.ts'

import { readConfig } from './config.ts'
import { fakeHistory } from './fake-history.ts'
import { createOneFile } from './one-file.ts'
import './formats.ts'
import { NOW_MS } from './now.ts'
import { settled } from './settled.ts'

export { NOW_MS }

const oneFile = createOneFile()
export const loadedExtensions = await loadExtensions(extensions)
const otherExtensions = await loadExtensions(extensions.filter(({ name }) => name !== 'day-files'))

/** Parts in place of those of the harness, those of the thread that writes among them. */
export type HarnessParts = Partial<Omit<AppParts, 'first'> & FirstThreadParts>

type HarnessOptions = HarnessParts & {
  files?: FileStore | undefined
  /** Of a ledger that is not in a file, in which it is made before. */
  key?: string | undefined
}

/** Everything, with more requests a minute than a test makes. */
const testTier: Tier = {
  tierId: 'test',
  name: 'Test',
  rank: 99,
  coins,
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
  requestsPerMinute: 1_000_000,
  isForSale: false,
}

/**
 * The whole app with its promises, with a clock that only the test moves, counted ids and the
 * log as a list. `send` uses a key of a tier that includes everything, unless it is given another
 * `authorization`; `sendAs(undefined)` is a caller without any.
 */
export const createHarness = (options: HarnessOptions = {}) =>
  createHarnessBehind((app) => app, options)

/** Like `createHarness`, with requests answered by the result of `front`. */
export function createHarnessBehind<Front extends Pick<App, 'fetch'>>(
  front: (app: App, parts: AppParts) => Front,
  { files = oneFile, key: given, ...options }: HarnessOptions = {},
) {
  const time = { nowMs: NOW_MS, timerMs: 0 }
  const lines: string[] = []
  let minted = 0
  const createId = () => `minted${++minted}`
  const ledger = options.ledger ?? openLedger(':memory:', { nowMs: NOW_MS })
  const key = given ?? addKey(ledger, testTier)
  const { config = readConfig({ BOOKFEED_SIGNUPS_PER_DAY: '1000000' }) } = options
  const {
    history = fakeHistory(),
    screen = async (address: string) => clearOf(address, time.nowMs),
    wallets = createWallets(undefined),
    billing = closedBilling('Billing is not configured.'),
    recording = () => undefined,
    signup = () => ({ isOpen: true }),
    origin = () => 'http://127.0.0.1:3000',
    faults,
    nodes,
    isStarted,
    operator,
    exports,
    fetch,
    say,
    ...others
  } = options
  const pool = openPool(history)
  const parts: AppParts = {
    history,
    pool,
    config,
    extensions: [
      createDayFiles((path) =>
        path === config.dataPath ? files : createFileStore(filesPathOf(path)),
      ),
      ...otherExtensions,
    ],
    clock: () => time.nowMs,
    timer: () => time.timerMs,
    createId,
    randomBytes,
    log: (line) => void lines.push(line),
    version: '0.0.0-test',
    ...others,
    ledger,
    first: {
      screen,
      wallets,
      billing,
      recording,
      signup,
      origin,
      faults,
      nodes,
      isStarted,
      operator,
      exports,
      fetch,
      say,
    },
  }
  const app = front(createApp(parts), parts)
  const sendAs = async (token: string | undefined, path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    if (token !== undefined && !headers.has('authorization')) {
      headers.set('authorization', `Bearer ${token}`)
    }
    const request = new Request(`http://localhost${path}`, { ...init, headers })
    const response = await app.fetch(request)
    // Its events are a single response, and end.
    return path === '/mcp' ? response : received(response)
  }
  const send = (path: string, init?: RequestInit) => sendAs(key, path, init)
  const advance = (ms: number) => {
    time.nowMs += ms
    time.timerMs += ms
  }
  const closePool = async () => pool?.dispose()
  return { app, parts, closePool, ledger, key, send, sendAs, lines, time, advance }
}

/**
 * Reads a response like a connection: each piece is copied before the next one is read. From an
 * endless stream of events it takes what is there at once, and leaves.
 */
async function received(response: Response): Promise<Response> {
  if (isLive(response)) {
    const pieces = response.body?.getReader()
    const first = await pieces?.read()
    await pieces?.cancel()
    return new Response(first?.value, response)
  }
  if (!response.headers.has('x-export-id') || response.body === null) return response
  const pieces = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.read()
        if (done) controller.close()
        else controller.enqueue(value.slice())
      },
      cancel: (reason) => pieces.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}

const isLive = ({ headers, body }: Response): boolean =>
  headers.get('content-type') === 'text/event-stream' &&
  !headers.has('content-length') &&
  body !== null

const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

type KeyOf = [ledger: Ledger, tier: Tier | string | undefined, address?: string]

/**
 * Creates a key of a new account with an unlimited grant of a tier and returns it, for a ledger in
 * a file.
 */
export function addKey(...given: KeyOf): string {
  const { key, made } = beginKey(...given)
  settled(made)
  return key
}

/** Like `addKey`, for any ledger. */
export async function makeKey(...given: KeyOf): Promise<string> {
  const { key, made } = beginKey(...given)
  await made
  return key
}

function beginKey(...[ledger, tier, address]: KeyOf): { key: string; made: Promise<void> } {
  const by = { actor: 'operator', nowMs: NOW_MS } as const
  const key = createApiKey(randomBytes)
  const name = `${hintOf(key)}${ledger.listKeys().length}`
  const made = ledger.atomically(({ putTier, createAccount, addSubscription, createKey }) => {
    if (typeof tier === 'object') putTier(tier, by)
    const tierId = typeof tier === 'object' ? tier.tierId : tier
    createAccount({ id: `acc_${name}`, address }, by)
    const keyId = `key_${name}`
    if (tierId !== undefined) {
      const grant = { id: `sub_${name}`, accountId: `acc_${name}`, tierId, startMs: 0 }
      addSubscription(grant, by)
    }
    const draft = { id: keyId, accountId: `acc_${name}`, familyId: keyId, hint: hintOf(key) }
    createKey({ ...draft, digest: digestOf(key) }, by)
  })
  return { key, made }
}

/** The verdict of a current list that does not contain the address. */
export const clearOf = (address: string, timeMs: number): Verdict => ({
  verdict: 'clear',
  address: address.toLowerCase(),
  timeMs,
  grounds: {
    list: { answer: 'clear', isStale: false, publishedOn: '2026-01-01', sha256: '00' },
    oracle: 'absent',
    issuers: 'absent',
  },
})
