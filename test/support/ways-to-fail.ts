/** A way to provoke each error code in any operation that documents it. */

import { createWallets } from '#src/chain/wallets.ts'
import { storageError } from '#src/database/database.ts'
import { bytesPosition, createCursorCodec } from '#src/domain/cursor.ts'
import { AppError, type ErrorCode } from '#src/domain/errors.ts'
import { coins } from '#src/domain/market.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { defaultTiers, type Tier } from '#src/domain/selling/tier.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { readConfig } from './config.ts'
import { failingBilling, fakeBilling, refusingBilling } from './fake-billing.ts'
import { fakeHistory } from './fake-history.ts'
import { addKey, clearOf, createHarness, NOW_MS } from './harness.ts'
import { conditionIdOf, createMarketHistory } from './market-history.ts'
import { createOneFile } from './one-file.ts'
import type { Entry } from './openapi-document.ts'
import {
  accountOf,
  addressOf,
  addSpareKey,
  type Asked,
  exampleOf,
  fillPath,
  idFor,
  isKeyless,
  isLinked,
  soundRequest,
  withPair,
} from './operation-requests.ts'
import { createOperatorParts } from './operator-server.ts'
import { withParams } from './page-client.ts'
import { asJson, createSigner, vouchFor } from './signup-client.ts'

type Options = Parameters<typeof createHarness>[0]
/** Provokes the code in an operation. */
export type Way = (entry: Entry) => Promise<Response>

/** A separate server for each provocation that changes its state or its parts. */
const serve = (options: Options = {}) =>
  createHarness({ history, billing: fakeBilling(), ...options })

/** If nothing is sold without a key, most operations cannot fail this way. */
const keyless = readConfig({ BOOKFEED_SIGNUPS_PER_DAY: '1000000', BOOKFEED_KEYLESS: 'on' })
const serveFor = (entry: Entry, options: Options = {}) =>
  serve({ ...(isKeyless(entry) ? { config: keyless } : {}), ...options })
type Server = ReturnType<typeof serve>

/**
 * One server for requests that are refused for what they say or for their key, with a keyless one
 * beside it.
 */
function sharedFor(entry?: Entry): Server {
  const isOpen = entry !== undefined && isKeyless(entry)
  const server = shared.get(isOpen) ?? serve(isOpen ? { config: keyless } : {})
  shared.set(isOpen, server)
  return server
}
const shared = new Map<boolean, Server>()

const { history, both } = await createMarketHistory()
const by = { actor: 'operator', nowMs: NOW_MS } as const
const placed = { coin: both.coin, conditionId: both.conditionId }
const elsewhere = { name: 'elsewhere', filters: () => [], position: bytesPosition }
const foreignCursor = createCursorCodec(history.cursorKey).encode(elsewhere, {}, new Uint8Array(38))

const fail = (): never => {
  throw new Error('secret disk fault')
}
const failLater = () => Promise.reject(new Error('secret disk fault'))

/** Sends a valid request after a change. */
const changed =
  (change: (asked: Asked) => Asked): Way =>
  async (entry) => {
    const server = sharedFor(entry)
    const { path, init } = change(await soundRequest(server, entry, placed))
    return server.send(path, init)
  }

/** Responds like a store with damage; test/history/corruption.test.ts damages a real one. */
async function askDamaged(entry: Entry): Promise<Response> {
  const refuse = () => {
    throw new AppError(
      'damaged',
      'Market 0x00 is damaged on the disk of this server, and not served.',
    )
  }
  const revisions = refusingRevisions(refuse)
  const reads = { findMarket: refuse, listMarkets: refuse, coinTotals: refuse, spot: refuse }
  const verbs = { ...reads, revisions, manifests: refusingManifests(refuse) }
  const files = { ...createOneFile(), findFile: refuse }
  const server = serve({ history: fakeHistory(verbs), files })
  const { path, init } = await soundRequest(server, entry, placed)
  return server.send(path, init)
}

const refusingRevisions = (refuse: () => never) => ({
  sinceMs: refuse,
  lastIdBefore: refuse,
  list: refuse,
  factsOf: refuse,
  lastRemovalMs: refuse,
  firstIdFrom: refuse,
  lastChangeMs: refuse,
  eventsSinceMs: refuse,
  firstTradeIdFrom: refuse,
  firstSpotIdFrom: refuse,
  factsSince: refuse,
  isNewSince: refuse,
  isClosedSince: refuse,
  gapsAt: refuse,
})

const refusingManifests = (refuse: () => never) => ({
  publicKey: refuse,
  newest: refuse,
  find: refuse,
  ofDay: refuse,
  sequencesOf: refuse,
  list: refuse,
  days: refuse,
  add: refuse,
})

/** Replaces one parameter of the path. */
const inPath =
  (values: Record<string, string>): Way =>
  (entry) => {
    const path = fillPath(entry.path, { ...placed, id: 'key_none', link: 'none', ...values })
    const body = entry.requestBody ? asJson(exampleOf(entry)) : {}
    return sharedFor(entry).send(path, { ...body, method: entry.method })
  }

/** Sends a valid request with a key of the given tier. */
const asTier =
  (tier: Partial<Tier>): Way =>
  async (entry) => {
    const server = sharedFor()
    const token = addKey(server.ledger, aTier(tier))
    const { path, init } = await soundRequest(server, entry, { ...placed, token })
    return server.sendAs(token, path, init)
  }

let tiers = 0
const aTier = (tier: Partial<Tier>): Tier => ({
  tierId: `odd${++tiers}`,
  name: 'Odd',
  // No two tiers of a ledger have the same.
  rank: 100 + tiers,
  coins,
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
  requestsPerMinute: 1000,
  isForSale: false,
  ...tier,
})

/** Signs up to a server with these options, with a body that was changed after it was signed. */
const signup =
  (options: Options, change: (body: SignedBody) => object = (body) => body): Way =>
  async () => {
    const server = serve(options)
    // The challenge is from an open server: only the signup must fail.
    const issuer = serve({ ledger: server.ledger })
    return server.send('/v1/keys', asJson(change(await createSigner(issuer.send).signed())))
  }
type SignedBody = { message: string; signature: string }

const sayingOf = (verdict: 'hit' | 'unknown') => async (address: string) =>
  ({ ...clearOf(address, NOW_MS), verdict }) satisfies Verdict

const closed: Options = { signup: () => ({ isOpen: false, reason: 'There is no sanctions list.' }) }

async function rotateAtLimit(entry: Entry): Promise<Response> {
  const server = serve({
    config: readConfig({ BOOKFEED_KEYS_PER_ACCOUNT: '1', BOOKFEED_SIGNUPS_PER_DAY: '1000000' }),
  })
  await addSpareKey(server, server.key)
  const { path, init } = await soundRequest(server, entry, placed)
  return server.send(path, init)
}

async function rotateAgain(entry: Entry): Promise<Response> {
  const server = serve()
  const asked = await soundRequest(server, entry, placed)
  return twice(server, server.key, [asked, asked])
}

async function signUpAtLimit(): Promise<Response> {
  const { send, ledger } = serve({
    config: readConfig({ BOOKFEED_KEYS_PER_ACCOUNT: '1', BOOKFEED_SIGNUPS_PER_DAY: '1000000' }),
  })
  const signer = createSigner(send)
  await vouchFor(ledger, signer.address)
  await signer.signUp()
  return send('/v1/keys', asJson(await signer.signed()))
}

/** The first request succeeds; returns the response of the second. */
async function twice(server: Server, token: string, requests: readonly [Asked, Asked]) {
  const [first, second] = requests
  const { status } = await server.sendAs(token, first.path, first.init)
  if (status >= 300) throw new Error(`${first.path} was to succeed, and answered ${status}.`)
  return server.sendAs(token, second.path, second.init)
}

async function spend(entry: Entry): Promise<Response> {
  const server = isLinked(entry) ? serve() : sharedFor(entry)
  const token = addKey(server.ledger, aTier({ requestsPerMinute: 1 }))
  const asked = await soundRequest(server, entry, { ...placed, token })
  // Links have a window of their own, of a fixed size.
  for (let left = isLinked(entry) ? LINKS_PER_MINUTE - 1 : 0; left > 0; left--)
    await server.sendAs(token, asked.path, { method: 'HEAD' })
  return twice(server, token, [asked, asked])
}
const LINKS_PER_MINUTE = 3000

/** The first stream is opened and not read, which uses the whole allowance of the tier. */
async function streamTwice(entry: Entry): Promise<Response> {
  const server = serve()
  const token = addKey(server.ledger, aTier({ requestsPerMinute: 10 }))
  const { path, init } = await soundRequest(server, entry, { ...placed, token })
  const headers = { authorization: `Bearer ${token}` }
  await server.app.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
  return server.sendAs(token, path, init)
}

/** Billing refuses with the code. */
const sold =
  (code: ErrorCode): Way =>
  async (entry) => {
    const server = serveFor(entry, { billing: refusingBilling(code) })
    const { path, init } = await soundRequest(server, entry, placed)
    return server.send(path, init)
  }

const askForChallenge = async (entry: Entry): Promise<Response> =>
  isKeyless(entry)
    ? serveFor(entry).send(fillPath(entry.path, { id: await idFor(serve(), entry) }), {
        method: 'POST',
      })
    : serve().send(entry.path, asJson({ quoteId: 'quote_fake' }))

/** Another tier under the same name; the first response stays. */
function reuseQuoteName(entry: Entry): Promise<Response> {
  const server = serve()
  const body = exampleOf(entry)
  const named = (change: object): Asked => ({
    path: entry.path,
    init: asJson({ ...body, ...change }, { 'idempotency-key': 'one' }),
  })
  return twice(server, server.key, [named({}), named({ tierId: 'starter' })])
}

async function reuseName(entry: Entry): Promise<Response> {
  if (isQuote(entry)) return reuseQuoteName(entry)
  const server = serve()
  const { path, init } = await soundRequest(server, entry, placed)
  const { message, signature } = JSON.parse(String(init.body)) as Partial<SignedBody>
  const named = (label: string): Asked => ({
    path,
    init: asJson({ message, signature, label }, { 'idempotency-key': 'one' }),
  })
  return twice(server, server.key, [named('a'), named('b')])
}

async function useTwice(): Promise<Response> {
  const server = serve()
  const asked = { path: '/v1/keys', init: asJson(await createSigner(server.send).signed()) }
  return twice(server, server.key, [asked, asked])
}

async function signUpLate(): Promise<Response> {
  const { send, advance } = serve()
  const body = await createSigner(send).signed()
  advance(5 * 60_000)
  return send('/v1/keys', asJson(body))
}

async function askBlocked(entry: Entry): Promise<Response> {
  const server = sharedFor()
  const token = addKey(server.ledger, 'pro')
  await server.ledger.setBlocked(accountOf(server, token), true, by)
  const { path, init } = await soundRequest(server, entry, { ...placed, token })
  return server.sendAs(token, path, init)
}

async function askWithoutKey(entry: Entry): Promise<Response> {
  const server = serve()
  const { path, init } = await soundRequest(server, entry, placed)
  return server.sendAs(undefined, path, init)
}

/** Everything behind the routes fails; the gate still knows its keys. */
async function askBroken(entry: Entry): Promise<Response> {
  const server = createHarness({
    history: fakeHistory({
      findMarket: fail,
      listMarkets: fail,
      coinTotals: fail,
      revisions: refusingRevisions(fail),
      manifests: refusingManifests(fail),
    }),
    wallets: { ...createWallets(undefined), readSignIn: failLater, writeSignIn: failLater },
    billing: failingBilling(() => new Error('secret disk fault')),
    config: keyless,
  })
  const tiers = () => defaultTiers.map((tier) => Object.defineProperty({ ...tier }, 'name', broken))
  const verbs: Partial<Ledger> = {
    atomically: fail,
    findKey: fail,
    listKeys: fail,
    rotateKey: fail,
    usageOf: fail,
    listPacks: fail,
    listTiers: tiers,
  }
  Object.assign(server.ledger, verbs)
  const id = isKeyless(entry) ? await idFor(server, entry) : 'key_none'
  const path = addressOf(entry, { ...placed, id })
  const body = entry.requestBody ? asJson(exampleOf(entry)) : {}
  return server.send(path, { ...body, method: entry.method })
}
const broken = { get: fail }

/** The ledger is unreadable, so no caller is known. */
async function askWithoutLedger(entry: Entry): Promise<Response> {
  const server = serve()
  const { path, init } = await soundRequest(server, entry, placed)
  server.ledger.revision = fail
  return server.send(path, init)
}

/** The ledger is readable, but not writable. */
async function askFull(entry: Entry): Promise<Response> {
  const server = serve()
  const { path, init } = await soundRequest(server, entry, placed)
  const full = async (): Promise<never> => {
    throw storageError('No room is left on the disk. Free some space and try again.')
  }
  Object.assign(server.ledger, {
    signUp: full,
    rotateKey: full,
    putAnswer: full,
    revokeKey: full,
    atomically: full,
  })
  Object.assign(server.ledger.payments, { openOffer: full, claim: full })
  return server.send(path, init)
}

async function askDraining(): Promise<Response> {
  const { app, send } = serve()
  app.drain()
  return send('/readyz')
}

/** A link needs the ledger, so that the files fail behind it. */
async function askBrokenFiles(entry: Entry): Promise<Response> {
  const server = serve({ files: { ...createOneFile(), findFile: fail } })
  const { path, init } = await soundRequest(server, entry, placed)
  return server.send(path, init)
}

async function askWithoutFiles(entry: Entry): Promise<Response> {
  const none = { find: () => undefined, findFile: () => undefined }
  const server = serve({ files: { ...createOneFile(), ...none } })
  const { path, init } = await soundRequest(server, entry, placed)
  return server.send(path, init)
}

/** The file has a second revision. */
async function askReplaced(entry: Entry): Promise<Response> {
  const first = createOneFile()
  const find: typeof first.find = (place) => {
    const [file] = first.find(place)?.files ?? []
    const newest = file && { ...file, name: file.name.replace('-r1.', '-r2.'), revision: 2 }
    return { source: '', files: file && newest ? [file, newest] : [], isDamaged: false }
  }
  const server = serve({ files: { ...first, find } })
  const { path, init } = await soundRequest(server, entry, placed)
  return server.send(path, init)
}

const isQuote = ({ operationId }: Entry): boolean => operationId === 'createQuote'
const isOfPrices = ({ path }: Entry): boolean =>
  /\/(prices|spot|trades|calibration)$|\/board\b/.test(path)
const isSignup = ({ operationId }: Entry): boolean => operationId === 'createKey'

export const waysToFail: Partial<Record<ErrorCode, Way>> = {
  invalid_parameter: changed(({ path, init }) => ({ path: withPair(path, 'unheard=1'), init })),
  invalid_request: (entry) =>
    entry.requestBody
      ? changed(({ path, init }) => ({ path, init: { ...init, body: '{"' } }))(entry)
      : inPath({ coin: '%zz', id: '%zz' })(entry),
  challenge_invalid: signup({}, (body) => ({ ...body, message: `${body.message} ` })),
  signature_invalid: signup({}, (body) => ({ ...body, signature: '0x00' })),
  cursor_invalid: changed(({ path, init }) => ({ path: withPair(path, 'cursor=x'), init })),
  cursor_mismatch: changed(({ path, init }) => ({
    path: withPair(path, `cursor=${foreignCursor}`),
    init,
  })),
  link_invalid: changed(({ path, init }) => ({
    path: path.replace(/bf_link_[\w-]{8}/, 'bf_link_AAAAAAAA'),
    init,
  })),
  file_replaced: askReplaced,
  unauthenticated: askWithoutKey,
  tier_coin: asTier({ coins: ['eth'] }),
  tier_route: (entry) => asTier({ routes: [isOfPrices(entry) ? 'quotes' : 'prices'] })(entry),
  operator_only: () =>
    serve({ operator: createOperatorParts() }).sendAs(undefined, '/admin/api/overview'),
  not_found: () => serve().send('/v1/nowhere'),
  unknown_coin: inPath({ coin: 'nocoin' }),
  unknown_market: inPath({ conditionId: conditionIdOf('0') }),
  // Long before anything was recorded, and a day after.
  no_snapshot: changed(({ path, init }) => ({ path: withParams(path, { ts: 0 }), init })),
  stale: changed(({ path, init }) => ({ path: withParams(path, { maxAgeMs: 0 }), init })),
  unknown_file: askWithoutFiles,
  range_not_satisfiable: changed(({ path, init }) => ({
    path,
    init: { ...init, headers: { ...init.headers, range: 'bytes=99999-' } },
  })),
  unknown_key: inPath({ id: 'key_none' }),
  method_not_allowed: changed(({ path }) => ({ path, init: { method: 'PUT' } })),
  challenge_used: useTwice,
  key_limit: (entry) => (isSignup(entry) ? signUpAtLimit() : rotateAtLimit(entry)),
  challenge_expired: signUpLate,
  key_replaced: rotateAgain,
  payload_too_large: changed(({ path, init }) => ({
    path,
    init: { ...init, body: JSON.stringify({ padding: 'x'.repeat(64 * 1024) }) },
  })),
  unsupported_media_type: changed(({ path, init }) => ({
    path,
    init: { ...init, headers: { 'content-type': 'text/plain' } },
  })),
  idempotency_mismatch: reuseName,
  rate_limited: spend,
  too_many_streams: streamTwice,
  sanctioned(entry) {
    if (isKeyless(entry)) return sold('sanctioned')(entry)
    return isSignup(entry) ? signup({ screen: sayingOf('hit') })(entry) : askBlocked(entry)
  },
  internal: (entry) => (isLinked(entry) ? askBrokenFiles(entry) : askBroken(entry)),
  damaged: askDamaged,
  payment_invalid: sold('payment_invalid'),
  payment_required: askForChallenge,
  payment_rejected: sold('payment_rejected'),
  unknown_tier: sold('unknown_tier'),
  unknown_network: sold('unknown_network'),
  unknown_token: sold('unknown_token'),
  unknown_offer: sold('unknown_offer'),
  unknown_payment: inPath({ id: 'pay_none' }),
  tier_not_for_sale: sold('tier_not_for_sale'),
  offer_limit: sold('offer_limit'),
  payment_limit: sold('payment_limit'),
  offer_used: sold('offer_used'),
  payment_conflict: sold('payment_conflict'),
  payment_in_review: sold('payment_in_review'),
  offer_expired: sold('offer_expired'),
  allowance_required: sold('allowance_required'),
  billing_unavailable: sold('billing_unavailable'),
  signup_closed: (entry) =>
    isSignup(entry)
      ? signup(closed)(entry)
      : serve(closed).send(entry.path, asJson(exampleOf(entry))),
  storage_unavailable: (entry) =>
    entry.path.includes('/billing/') ? sold('storage_unavailable')(entry) : askFull(entry),
  screening_unavailable: (entry) =>
    isSignup(entry)
      ? signup({ screen: sayingOf('unknown') })(entry)
      : sold('screening_unavailable')(entry),
  unavailable: (entry) => (entry.path.startsWith('/v1/') ? askWithoutLedger(entry) : askDraining()),
}
