/** The requests of `bookfeed pay` to a server, whose responses are not trusted. */

import { parseMillionths } from '#src/domain/decimal.ts'
import type { PaymentRequirements } from '#src/domain/selling/payment.ts'
import { toPrintable } from '#src/platform/printable.ts'
import { isRecord } from '#src/platform/record.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'

const TIMEOUT_MS = 60_000
const ANSWER_BYTES_MAX = 256 * 1024
const SHOWN_MAX = 500

/** A payment may be submitted any number of times: it is accepted once. */
const ATTEMPTS_MAX = 10
const LOOKS_MAX = 300
const WAIT_SECONDS = 3

/** The outside world of a purchase; tests pass their own. */
export type PayWorld = {
  fetch: (url: string, init: RequestInit) => Promise<Response>
  sleep: (ms: number) => Promise<void>
}

type Request = { key?: string; body?: unknown; headers?: Record<string, string> }
type Body = Record<string, unknown>
/**
 * A response. `status` 0 means that there was none, and that it is unknown if the request arrived.
 * `list` is the body if that is a list.
 */
type Answer = {
  status: number
  body: Body
  list?: readonly unknown[] | undefined
  retryAfterSeconds: number | undefined
}
export type Quote = ReturnType<typeof readQuote>
export type PayServer = ReturnType<typeof createPayServer>

export function createPayServer(url: URL, fetch: PayWorld['fetch']) {
  async function ask(path: string, { key, body, headers: more }: Request): Promise<Answer> {
    const headers: Record<string, string> = { accept: 'application/json', ...more }
    if (key !== undefined) headers.authorization = `Bearer ${key}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    try {
      const response = await fetch(new URL(path, url).href, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // A redirect could send the key and the payment elsewhere.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      return await readAnswer(response)
    } catch {
      return { status: 0, body: {}, retryAfterSeconds: undefined }
    }
  }
  return {
    url,
    ask,
    /** Returns the body. Throws a `command` fault for another status. */
    async expect(status: number, path: string, request: Request): Promise<Body> {
      const answer = await ask(path, request)
      if (answer.status === status) return answer.body
      throw commandError(describeFault(answer))
    },
    /** Like `expect`, for a route without a key whose body is a list of objects. */
    async expectList(path: string): Promise<Body[]> {
      const answer = await ask(path, {})
      if (answer.status === 200 && answer.list) return answer.list.map(toRecord)
      throw commandError(describeFault(answer))
    },
  }
}

async function readAnswer(response: Response): Promise<Answer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > ANSWER_BYTES_MAX) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const parsed = parseJson(Buffer.concat(chunks).toString('utf8'))
  return {
    status: response.status,
    body: toRecord(parsed),
    list: Array.isArray(parsed) ? parsed : undefined,
    retryAfterSeconds: Number.isFinite(seconds) ? Math.max(1, Math.min(seconds, 60)) : undefined,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const toRecord = (value: unknown): Body => (isRecord(value) ? value : {})

/** Returns a text that is safe for a terminal; empty for other values. */
export const toText = (value: unknown): string =>
  typeof value === 'string' ? toPrintable(value.slice(0, SHOWN_MAX)) : ''

export function describeFault({ status, body }: Answer): string {
  if (status === 0) return 'The server did not answer.'
  const code = toText(body.code)
  const detail = toText(body.detail) || toText(body.title) || 'no reason given'
  const action = toText(body.retryAction)
  return `The server answered ${status}${code && ` ${code}`}: ${detail}${action && ` (next: ${action})`}`
}

/**
 * Reads the response to a request for a quote. Throws a `command` fault for an offer that must not
 * be signed.
 */
export function readQuote(body: Body) {
  const accepted = toRecord(body.paymentRequirements)
  const extra = toRecord(accepted.extra)
  const isSound =
    accepted.scheme === 'exact' &&
    isMatch(accepted.network, /^eip155:[1-9]\d{0,9}$/) &&
    isMatch(accepted.asset, /^0x[0-9a-fA-F]{40}$/) &&
    isMatch(accepted.payTo, /^0x[0-9a-fA-F]{40}$/) &&
    isMatch(accepted.amount, /^[1-9]\d{0,20}$/) &&
    Number.isInteger(accepted.maxTimeoutSeconds) &&
    Number(accepted.maxTimeoutSeconds) > 0 &&
    Object.values(extra).every((value) => typeof value === 'string') &&
    isMatch(body.quoteId, /^[A-Za-z0-9_-]{1,100}$/)
  if (!isSound) throw commandError('The quote of the server cannot be read.')
  return {
    quoteId: toText(body.quoteId),
    expiresAt: toText(body.expiresAt),
    // Every member that is read was checked above.
    requirements: accepted as PaymentRequirements,
    inFlight: isRecord(body.paymentInFlight) ? readInFlight(body.paymentInFlight) : undefined,
  }
}

const readInFlight = ({ paymentId, paymentState, pollUrl }: Body) => ({
  paymentId: toText(paymentId),
  paymentState: toText(paymentState),
  pollUrl: toText(pollUrl),
})

/** Price and length of a tier in the catalogue. Throws a `command` fault if it cannot be bought. */
export function readTier(tiers: readonly Body[], id: string) {
  const tier = tiers.find(({ tierId }) => tierId === id)
  if (tier === undefined) {
    const names = tiers.map(({ tierId }) => toText(tierId)).join(', ')
    throw commandError(`The server has no tier ${id}. Its tiers are ${names}.`)
  }
  const { priceUsdc, periodDays, isForSale, contact } = tier
  const price = typeof priceUsdc === 'string' ? parseMillionths(priceUsdc) : undefined
  if (isForSale !== true || price === undefined || !Number.isInteger(periodDays)) {
    throw commandError(`The server does not sell the tier ${id}. ${toText(contact)}`.trim())
  }
  return { price, periodDays: Number(periodDays) }
}

/** Explains why a token is unavailable on a server; undefined if it is available. */
export function readToken(
  chains: readonly Body[],
  { network, symbol }: { network: string; symbol: string },
): string | undefined {
  const chain = chains.find((each) => each.network === network)
  const tokens = Array.isArray(chain?.tokens) ? chain.tokens.map(toRecord) : []
  const token = tokens.find((each) => each.symbol === symbol)
  if (token === undefined) return 'the server does not sell for it.'
  return token.enabled === true ? undefined : toText(token.reason) || 'not enabled.'
}

/**
 * The end of the last period of a tier, read from the response of `subscription`; undefined without
 * one.
 */
export function readPeriodEnd({ current, upcoming }: Body, tierId: string): string | undefined {
  const periods = [current, ...(Array.isArray(upcoming) ? upcoming : [])].map(toRecord)
  const last = periods.findLast((period) => period.tierId === tierId)
  return last && (toText(last.endsAt) || 'for ever')
}

const isMatch = (value: unknown, pattern: RegExp): boolean =>
  typeof value === 'string' && pattern.test(value)

type Signed = { x402Version: 2; resource: { url: string }; accepted: unknown; payload: Body }
type Connection = { server: PayServer; key: string; sleep: PayWorld['sleep'] }
/** A quote in place of a signed payment selects the payment that already pays it. */
type Purchase = Connection & { body: { paymentPayload: Signed } | { quoteId: string } }

const doNotPayAgain =
  'Do not pay again: this payment may still go through. GET /v1/billing/payments shows it, and GET /v1/billing/subscription the tier.'

/**
 * Submits one signed payment until it ends, and never signs a second. Throws a `command` fault if
 * it is not paid.
 */
export async function settle(context: CliContext, purchase: Purchase): Promise<void> {
  let answer = await submit(context, purchase)
  const isInFlight = ({ status, body }: Answer) =>
    status === 202 || (status === 200 && body.status === 'pending')
  for (let count = 0; isInFlight(answer); count++) {
    if (count === LOOKS_MAX) throw commandError(`The payment is still in flight. ${doNotPayAgain}`)
    answer = await look(context, purchase, answer)
  }
  if (answer.status !== 200) throw commandError(describeFault(answer))
  const status = toText(answer.body.status)
  if (status !== 'active') {
    const { reason, retryAction } = answer.body
    const end = [toText(reason), toText(retryAction)].filter(Boolean).join(', next: ')
    throw commandError(`The payment is ${status}: ${end}.`)
  }
  for (const line of describeReceipt(answer.body)) context.printError(line)
}

/**
 * Follows the payment of a quote that is in flight until it ends, and signs nothing. Throws like
 * `settle`.
 */
export async function follow(
  context: CliContext,
  { quote, ...connection }: Connection & { quote: Quote },
): Promise<void> {
  const { quoteId, inFlight } = quote
  const { server, key } = connection
  const { status } = await server.ask('/v1/billing/x402/settle', { key, body: { quoteId } })
  // The server requests a payment: the one in flight is for another order.
  if (status === 402) {
    throw commandError(
      `Another payment of the account is in flight: ${inFlight?.paymentId}, ${inFlight?.paymentState}. Nothing was signed. Run the command again when ${inFlight?.pollUrl} shows that it is decided, or add --another-period to buy one more period.`,
    )
  }
  await settle(context, { ...connection, body: { quoteId } })
}

/** Submits the same payment again after no response, or after one that requests a retry. */
async function submit(context: CliContext, purchase: Purchase): Promise<Answer> {
  const { server, key, body, sleep } = purchase
  const request = { key, body }
  for (let attempt = 1; ; attempt++) {
    const answer = await server.ask('/v1/billing/x402/settle', request)
    if (!isRetried(answer)) return answer
    if (attempt === ATTEMPTS_MAX) throw commandError(`${describeFault(answer)} ${doNotPayAgain}`)
    context.printError(`${describeFault(answer)} Sending the same payment again.`)
    await sleep(1000 * (answer.retryAfterSeconds ?? WAIT_SECONDS))
  }
}

/** True for errors before anything was sent, and for those that do not concern the payment. */
const isRetried = (answer: Answer): boolean =>
  isSilent(answer) || (answer.status >= 400 && answer.body.retryAction === 'retry_same_payment')

const isSilent = ({ status }: Answer): boolean => status === 0 || status === 429 || status >= 500

/** Requests the state of a payment in flight; one that was not sent is submitted again. */
async function look(context: CliContext, purchase: Purchase, last: Answer): Promise<Answer> {
  const { server, key, sleep } = purchase
  context.printError(`waiting  ${toText(last.body.paymentState) || 'in flight'}`)
  await sleep(1000 * (last.retryAfterSeconds ?? WAIT_SECONDS))
  if (last.body.retryAction === 'retry_same_payment') return submit(context, purchase)
  const answer = await server.ask(pollPathOf(server, last), { key })
  return isSilent(answer) ? { ...last, retryAfterSeconds: answer.retryAfterSeconds } : answer
}

/** The key is sent to this server only, wherever the URL points. */
function pollPathOf({ url }: PayServer, { body }: Answer): string {
  const target = URL.parse(toText(body.pollUrl), url.href)
  if (target?.origin === url.origin) return `${target.pathname}${target.search}`
  throw commandError(`The status of the payment is at another server. ${doNotPayAgain}`)
}

function describeReceipt(body: Body): string[] {
  const settlement = toRecord(body.settlement)
  const subscription = toRecord(body.subscription)
  return [
    `paid     ${toText(settlement.amountUsd)} by ${toText(settlement.payer)}`,
    `receipt  ${toText(settlement.paymentId)}, transaction ${toText(settlement.transaction)}`,
    `explorer ${toText(settlement.explorerUrl)}`,
    `tier     ${toText(subscription.tierId)} until ${toText(subscription.endsAt)}`,
  ]
}
