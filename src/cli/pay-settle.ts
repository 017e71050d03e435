/** Submits a signed payment until it is known what became of it; never signs a second one. */
import { type CliContext, CliError } from './context.ts'
import { type Answer, describeFault, type PayServer, toRecord, toText } from './pay-server.ts'

/** The same payment may be submitted as often as one likes: it is taken once. */
const ATTEMPTS_MAX = 10
const LOOKS_MAX = 300
const WAIT_SECONDS = 3

/** An x402 v2 payment. */
export type Signed = {
  x402Version: 2
  resource: { url: string }
  accepted: unknown
  payload: Record<string, unknown>
}

type Purchase = {
  server: PayServer
  key: string
  signed: Signed
  sleep: (ms: number) => Promise<void>
}

const doNotPayAgain =
  'Do not pay again: this payment may still go through. GET /v1/billing/payments shows it, and GET /v1/billing/subscription the tier.'

/** Prints the receipt. Throws `CliError` if it is not paid, or not known to be. */
export async function settle(context: CliContext, purchase: Purchase): Promise<void> {
  let answer = await submit(context, purchase)
  for (let count = 0; isInFlight(answer); count++) {
    if (count === LOOKS_MAX) throw new CliError(`The payment is still in flight. ${doNotPayAgain}`)
    answer = await look(context, purchase, answer)
  }
  if (answer.status !== 200) throw new CliError(describeFault(answer))
  const status = toText(answer.body.status)
  if (status !== 'active') throw new CliError(`The payment is ${status}: ${describeEnd(answer)}.`)
  for (const line of describeReceipt(answer.body)) context.printError(line)
}

/** No answer, and an answer that asks for it, lead to the same payment again. */
async function submit(
  context: CliContext,
  { server, key, signed, sleep }: Purchase,
): Promise<Answer> {
  const request = { key, body: { paymentPayload: signed } }
  for (let attempt = 1; ; attempt++) {
    const answer = await server.ask('/v1/billing/x402/settle', request)
    if (!isRetried(answer)) return answer
    if (attempt === ATTEMPTS_MAX) throw new CliError(`${describeFault(answer)} ${doNotPayAgain}`)
    context.printError(`${describeFault(answer)} Sending the same payment again.`)
    await sleep(1000 * (answer.retryAfterSeconds ?? WAIT_SECONDS))
  }
}

/** Errors before anything was sent, and those that say nothing about it. */
const isRetried = ({ status, body }: Answer): boolean =>
  status === 0 ||
  status === 429 ||
  status >= 500 ||
  (status >= 400 && body.retryAction === 'retry_same_payment')

const isInFlight = ({ status, body }: Answer): boolean =>
  status === 202 || (status === 200 && body.status === 'pending')

/** Asks once more for a payment in flight; one that was not sent yet is submitted again. */
async function look(context: CliContext, purchase: Purchase, last: Answer): Promise<Answer> {
  const { server, key, sleep } = purchase
  context.printError(`waiting  ${toText(last.body.paymentState) || 'in flight'}`)
  await sleep(1000 * (last.retryAfterSeconds ?? WAIT_SECONDS))
  if (last.body.retryAction === 'retry_same_payment') return submit(context, purchase)
  const answer = await server.ask(pollPathOf(server, last), { key })
  const isSilent = answer.status === 0 || answer.status === 429 || answer.status >= 500
  return isSilent ? { ...last, retryAfterSeconds: answer.retryAfterSeconds } : answer
}

/** The key goes to this server only, wherever it points. */
function pollPathOf({ url }: PayServer, { body }: Answer): string {
  const target = URL.parse(toText(body.pollUrl), url.href)
  if (target?.origin === url.origin) return `${target.pathname}${target.search}`
  throw new CliError(`The server says to look at another place. ${doNotPayAgain}`)
}

const describeEnd = ({ body }: Answer): string =>
  [toText(body.reason), toText(body.retryAction)].filter(Boolean).join(', next: ')

function describeReceipt(body: Record<string, unknown>): string[] {
  const settlement = toRecord(body.settlement)
  const subscription = toRecord(body.subscription)
  return [
    `paid     ${toText(settlement.amountUsd)} by ${toText(settlement.payer)}`,
    `receipt  ${toText(settlement.paymentId)}, transaction ${toText(settlement.transaction)}`,
    `explorer ${toText(settlement.explorerUrl)}`,
    `tier     ${toText(subscription.tierId)} until ${toText(subscription.endsAt)}`,
  ]
}
