/** Successful requests for any operation of the OpenAPI document. */

import { createLinks } from '#src/access/links.ts'
import type { Coin } from '#src/domain/market.ts'
import { digestOf } from '#src/domain/selling/api-key.ts'
import { toPaymentHeader } from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { ACTIVE_ID, PAYER_ACCOUNT } from './fake-billing.ts'
import { type createHarness, NOW_MS } from './harness.ts'
import { fileNameOf } from './one-file.ts'
import type { Entry } from './openapi-document.ts'
import { settled } from './settled.ts'
import { asJson, createSigner } from './signup-client.ts'

type Server = Pick<ReturnType<typeof createHarness>, 'ledger' | 'key' | 'send' | 'parts'>
type Place = { coin: string; conditionId: string }
export type Asked = { path: string; init: RequestInit }

/** Fills in the parameters of a path; throws for a parameter without a value. */
export function fillPath(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${template} has a parameter unknown to the tests.`)
    return value
  })
}

/** Required query parameters of operations. */
export const requiredParameters: Readonly<Record<string, Record<string, string | number>>> = {
  getSnapshotsAt: { ts: NOW_MS },
  getFill: { ts: NOW_MS, outcome: 'up', side: 'buy', size: '1' },
  getRestingFill: {
    outcome: 'up',
    side: 'buy',
    price: '0.5',
    size: '1',
    from: NOW_MS - 172_800_000,
    until: NOW_MS,
  },
  getPanel: { timeframe: '5m', offsets: '-60s' },
  exportDay: { day: '2026-01-01' },
  getArchiveSql: { kind: 'quotes', from: '2026-01-01', to: '2027-01-01' },
  getCitation: { id: 'bookfeed:btc/5m/2026-01-01' },
  // Without it, all coins of the caller are listed, so that no coin could be refused.
  listRevisions: { coin: 'btc' },
}

/** The required query of an operation; empty if there is none. */
export const requiredQueryOf = ({ operationId }: Pick<Entry, 'operationId'>): string =>
  Object.entries(requiredParameters[operationId] ?? {})
    .map((pair) => pair.join('='))
    .join('&')

/** The path with its required query. */
export function addressOf(
  { path, operationId }: Pick<Entry, 'path' | 'operationId'>,
  values: Record<string, string>,
): string {
  const query = requiredQueryOf({ operationId })
  const { coin = '' } = values
  if (isOfFile({ path })) {
    const { link = 'bf_link_none' } = values
    return fillPath(path, { coin, link, id: fileNameOf(coin.toLowerCase()) })
  }
  return query === '' ? fillPath(path, values) : `${fillPath(path, values)}?${query}`
}

/** Adds a pair to the query of an address. */
export const withPair = (address: string, pair: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}${pair}`

/**
 * Creates a request that succeeds for a permitted caller. Anything that it consumes (a key to
 * replace or revoke, a signed message) is created for each request; the key belongs to the account
 * of `token`.
 */
export async function soundRequest(
  server: Server,
  entry: Entry,
  { token = server.key, ...place }: Place & { token?: string | undefined },
): Promise<Asked> {
  const id = idFor(server, entry, token)
  const link = isLinked(entry) ? linkOf(server, token, place.coin) : ''
  const path = addressOf(entry, { ...place, id, link })
  return { path, init: await soundInit(server, entry, place) }
}

/** The `{id}` in the path of an operation; empty if there is none. */
export function idFor(
  server: Pick<Server, 'ledger' | 'key'>,
  { path }: Pick<Entry, 'path'>,
  token = server.key,
): string {
  if (!path.includes('{id}')) return ''
  if (isOfFile({ path })) return fileNameOf('btc')
  if (path.includes('/packs/')) return 'pack-1000'
  if (path.includes('/buy/')) return 'pro'
  return path.includes('/payments/') ? ACTIVE_ID : addSpareKey(server, token)
}

const isOfFile = ({ path }: Pick<Entry, 'path'>): boolean => /\/(files|{link})\/{id}$/.test(path)

/** True for an operation whose path has a link, which says for whom it answers. */
export const isLinked = ({ path }: Pick<Entry, 'path'>): boolean => path.includes('{link}')

/** A link to the file of `createOneFile`, for a key or, if it is unknown, for nobody. */
export function linkOf(
  { ledger, parts }: Pick<Server, 'ledger' | 'parts'>,
  token: string,
  coin: string,
): string {
  const { history, clock } = parts
  const links = createLinks({ key: history.cursorKey, clock })
  const file = { coin: coin.toLowerCase() as Coin, name: fileNameOf(coin.toLowerCase()) }
  const keyId = ledger.findKeyByDigest(digestOf(token))?.id
  return (
    links
      .pathOf(file, { keyId, untilMs: NOW_MS + 86_400_000 })
      .split('/')
      .at(-2) ?? ''
  )
}

/** A payment in a header, for operations that accept one in place of a body. */
export function headersInsteadOf(entry: Entry): Record<string, string> {
  if (isKeyless(entry)) return paymentHeader
  return entry.operationId === 'settlePayment'
    ? { 'payment-signature': toPaymentHeader(exampleOf(entry).paymentPayload) }
    : {}
}

/** Creates the account of every payment of the fake billing. */
export async function vouchForPayer(ledger: Ledger): Promise<void> {
  if (ledger.findAccount(PAYER_ACCOUNT) !== undefined) return
  await ledger.createAccount({ id: PAYER_ACCOUNT }, { actor: 'operator', nowMs: NOW_MS })
}

/** A header that the fake billing accepts as a payment. */
export const paymentHeader = { 'payment-signature': toPaymentHeader({ x402Version: 2 }) }

/** True for an operation that sells without a key. */
export const isKeyless = ({ path, method }: Pick<Entry, 'path' | 'method'>): boolean =>
  method === 'POST' && /\/billing\/(packs|buy)\//.test(path)

async function soundInit(
  { send, ledger }: Server,
  entry: Entry,
  place: Place,
): Promise<RequestInit> {
  const { method, requestBody, operationId } = entry
  if (isKeyless(entry)) {
    await vouchForPayer(ledger)
    return { ...asJson({}, paymentHeader), method }
  }
  if (requestBody === undefined) return { method }
  if (operationId === 'createKey') return { ...asJson(await createSigner(send).signed()), method }
  if (operationId === 'listSnapshotsAt') return { ...asJson(momentsOf(place)), method }
  return { ...asJson(exampleOf(entry)), method }
}

/** A moment with data. */
const momentsOf = ({ conditionId }: Place) => ({
  requests: [{ conditionId, outcome: 'up', ts: NOW_MS }],
})

/** The example body in the document; empty for an operation without one. */
export const exampleOf = ({ requestBody }: Entry): Record<string, unknown> =>
  requestBody?.content['application/json'].example ?? {}

/** The account of a key; for an unknown key, the server's own. */
export function accountOf({ ledger, key }: Pick<Server, 'ledger' | 'key'>, token: string): string {
  const own = ledger.findKeyByDigest(digestOf(token)) ?? ledger.findKeyByDigest(digestOf(key))
  if (own === undefined) throw new Error('The key of the server is in its ledger.')
  return own.accountId
}

/** Adds an unknown key to the account of `token`, and returns its id. */
export function addSpareKey(server: Pick<Server, 'ledger' | 'key'>, token: string): string {
  const id = `key_spare${server.ledger.listKeys().length}`
  const digest = digestOf(id)
  const draft = { id, accountId: accountOf(server, token), familyId: id, hint: 'none', digest }
  settled(server.ledger.createKey(draft, { actor: 'operator', nowMs: NOW_MS }))
  return id
}

/** The id of a key in the ledger. */
export function idOf(ledger: Ledger, token: string): string {
  const found = ledger.findKeyByDigest(digestOf(token))
  if (found === undefined) throw new Error('The key is in the ledger.')
  return found.id
}
