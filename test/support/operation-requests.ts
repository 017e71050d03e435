/** Requests that succeed, for any operation of the OpenAPI document. */

import { digestOf } from '#src/domain/selling/api-key.ts'
import { toPaymentHeader } from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { ACTIVE_ID, PAYER_ACCOUNT } from './fake-billing.ts'
import { type createHarness, NOW_MS } from './harness.ts'
import { fileNameOf } from './one-file.ts'
import type { Entry } from './openapi-document.ts'
import { asJson, createSigner } from './signup-client.ts'

type Server = Pick<ReturnType<typeof createHarness>, 'ledger' | 'key' | 'send'>
type Place = { coin: string; conditionId: string }
export type Asked = { path: string; init: RequestInit }

/** Puts values in the place of the parameters of a path; throws at one that it is not given. */
export function fillPath(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${template} has a parameter unknown to the tests.`)
    return value
  })
}

/** What an operation cannot be asked without. */
const requiredQueries: Record<string, string> = {
  getSnapshotsAt: `ts=${NOW_MS}`,
  getFill: `ts=${NOW_MS}&outcome=up&side=buy&size=1`,
  getPanel: 'timeframe=5m&offsets=-60s',
  exportDay: 'day=2026-01-01',
  getCitation: 'id=bookfeed:btc/5m/2026-01-01',
  // All coins of the caller without it, so that no coin could be refused.
  listRevisions: 'coin=btc',
}

/** What is required in the query of an operation; empty where nothing is. */
export const requiredQueryOf = ({ operationId }: Pick<Entry, 'operationId'>): string =>
  requiredQueries[operationId] ?? ''

/** The path with what is required in its query. */
export function addressOf(
  { path, operationId }: Pick<Entry, 'path' | 'operationId'>,
  values: Record<string, string>,
): string {
  const query = requiredQueries[operationId]
  const { coin = '' } = values
  if (isOfFile({ path })) return fillPath(path, { coin, id: fileNameOf(coin.toLowerCase()) })
  return query === undefined ? fillPath(path, values) : `${fillPath(path, values)}?${query}`
}

/** Adds a pair to the query of an address. */
export const withPair = (address: string, pair: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}${pair}`

/**
 * Makes a request that succeeds for whoever may ask. What it uses up (a key to be replaced or
 * revoked, a signed message) is made again each time; the key is one of the account of `token`.
 */
export async function soundRequest(
  server: Server,
  entry: Entry,
  { token = server.key, ...place }: Place & { token?: string | undefined },
): Promise<Asked> {
  const id = idFor(server, entry, token)
  return { path: addressOf(entry, { ...place, id }), init: await soundInit(server, entry, place) }
}

/** What stands for `{id}` in the path of an operation; empty where there is none. */
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

const isOfFile = ({ path }: Pick<Entry, 'path'>): boolean => path.endsWith('/files/{id}')

/** A payment in the header, for the operations whose body may be left out for it. */
export function headersInsteadOf(entry: Entry): Record<string, string> {
  if (isKeyless(entry)) return paymentHeader
  return entry.operationId === 'settlePayment'
    ? { 'payment-signature': toPaymentHeader(exampleOf(entry).paymentPayload) }
    : {}
}

/** The account of every payment of the billing that is not real. */
export function vouchForPayer(ledger: Ledger): void {
  if (ledger.findAccount(PAYER_ACCOUNT) !== undefined) return
  ledger.createAccount({ id: PAYER_ACCOUNT }, { actor: 'operator', nowMs: NOW_MS })
}

/** Of what passes for a payment where billing is not real. */
export const paymentHeader = { 'payment-signature': toPaymentHeader({ x402Version: 2 }) }

/** Sells without a key. */
export const isKeyless = ({ path, method }: Pick<Entry, 'path' | 'method'>): boolean =>
  method === 'POST' && /\/billing\/(packs|buy)\//.test(path)

async function soundInit(
  { send, ledger }: Server,
  entry: Entry,
  place: Place,
): Promise<RequestInit> {
  const { method, requestBody, operationId } = entry
  if (isKeyless(entry)) {
    vouchForPayer(ledger)
    return { ...asJson({}, paymentHeader), method }
  }
  if (requestBody === undefined) return { method }
  if (operationId === 'createKey') return { ...asJson(await createSigner(send).signed()), method }
  if (operationId === 'listSnapshotsAt') return { ...asJson(momentsOf(place)), method }
  return { ...asJson(exampleOf(entry)), method }
}

/** A moment that something is held of. */
const momentsOf = ({ conditionId }: Place) => ({
  requests: [{ conditionId, outcome: 'up', ts: NOW_MS }],
})

/** The body that the document shows; empty for an operation without one. */
export const exampleOf = ({ requestBody }: Entry): Record<string, unknown> =>
  requestBody?.content['application/json'].example ?? {}

/** The account of a key; that of the server's own for what is no key of it. */
export function accountOf({ ledger, key }: Pick<Server, 'ledger' | 'key'>, token: string): string {
  const own = ledger.findKeyByDigest(digestOf(token)) ?? ledger.findKeyByDigest(digestOf(key))
  if (own === undefined) throw new Error('The key of the server is in its ledger.')
  return own.accountId
}

/** Adds a key that nobody knows to the account of `token`, and returns its id. */
export function addSpareKey(server: Pick<Server, 'ledger' | 'key'>, token: string): string {
  const id = `key_spare${server.ledger.listKeys().length}`
  const digest = digestOf(id)
  const draft = { id, accountId: accountOf(server, token), familyId: id, hint: 'none', digest }
  server.ledger.createKey(draft, { actor: 'operator', nowMs: NOW_MS })
  return id
}

/** The id of a key that is in the ledger. */
export function idOf(ledger: Ledger, token: string): string {
  const found = ledger.findKeyByDigest(digestOf(token))
  if (found === undefined) throw new Error('The key is in the ledger.')
  return found.id
}
