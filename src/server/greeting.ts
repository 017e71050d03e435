/** The lines that a server prints when it answers. */
import { ifSound } from '#src/domain/errors.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import { FREE_TIER_ID, type Pack } from '#src/domain/selling/tier.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { issueKey } from '#src/operator/keys.ts'
import { hasRecorded } from '#src/simulator/moving-market.ts'

import type { CliContext } from './extension.ts'
import { isShared } from './open-data-folder.ts'
import { isLoopback } from './screening.ts'
import { patiently } from './stores.ts'

const LOCAL_KEY_LABEL = 'local'

/** A server that has just started. */
export type Started = {
  /** The address that it listens at. */
  url: URL
  /** The address at which callers reach it. */
  origin: string
  history: MarketHistory
  ledger: Ledger
  signup: SignupState
  payments: string
  /** Products that are sold without a key. */
  packs: readonly Pack[]
  metrics?: URL | undefined
}

/** Returns the lines of a server that has just started. */
export type Greet = (context: CliContext, server: Started) => Promise<string[]>

/** Greets the owner of a server, with a key if the ledger is new. */
export const greetOwner: Greet = async (context, server) => {
  const { invocation, clock, config } = context
  const { history, ledger } = server
  const isSample =
    config().hasSample &&
    !isShared(context, 'history') &&
    ifSound(() => hasRecorded(history, clock())) === false
  // Made after the server listens: if the start fails, no key is made that is never shown.
  const localKey = await patiently(() => makeLocalKey(context, ledger))
  const makeKey = keyCommand(context, ledger)
  return patiently(() => bannerLines({ ...server, isSample, localKey, makeKey, invocation }))
}

export type Banner = Omit<Started, 'origin' | 'ledger'> & {
  /** The key created by this start, shown only this once. */
  localKey: string | undefined
  /** True if nothing has been recorded and simulated markets are live instead. */
  isSample: boolean
  /** The shell command that creates another key. */
  makeKey: string
  /** The shell command that runs this program. */
  invocation: string
}

export function bannerLines(greeting: Banner): string[] {
  const { url, history, localKey, makeKey, invocation, isSample } = greeting
  const origin = originOf(url)
  const held = ifSound(() => {
    const example = findExampleMarket(history)
    return { example, coin: (example ?? history.coinTotals(0)[0])?.coin }
  })
  const market = held?.example
  const markets = `${origin}/v1/${held?.coin ?? 'btc'}/markets`
  // A shell expands variables only between double quotes.
  const header =
    localKey === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${localKey}'`
  const curl = `curl -H ${header}`
  const lines = [
    ...describeServer(greeting),
    ...(isSample
      ? [`Until a market is recorded, simulated ones move: ${origin}/v1/btc/prices`]
      : []),
    '',
    ...(localKey === undefined
      ? ['Try, with your key in $KEY. To make another one:', `  KEY=$(${makeKey})`, '']
      : ['Try, with the key below:']),
    `  ${curl} '${markets}'`,
  ]
  if (market) {
    const page = `${markets}/${market.conditionId}/snapshots`
    const size = `-w '%{size_download} bytes\\n'`
    lines.push(`  ${curl} '${page}?limit=2'`)
    lines.push(`  ${curl} --compressed -s -o /dev/null ${size} '${page}?limit=1000'`)
  } else {
    lines.push(
      `  curl '${origin}/readyz'`,
      '',
      held === undefined
        ? `Part of the history is damaged. See: ${invocation} verify`
        : `The history has no snapshots. See: ${invocation} import --help`,
    )
  }
  if (localKey !== undefined)
    lines.push('', 'Your API key, which is shown at this start only:', `  ${localKey}`)
  return lines
}

/** Describes the server, without a key. */
export function describeServer({
  url,
  signup,
  payments,
  packs,
  metrics,
}: Pick<Started, 'url' | 'signup' | 'payments' | 'packs' | 'metrics'>): string[] {
  const origin = originOf(url)
  const bundle = packs.find(({ requests, isForSale }) => requests > 1 && isForSale)
  return [
    `bookfeed listens on ${origin}`,
    `Documentation: ${origin}/swagger`,
    ...(metrics ? [`Metrics: ${metrics}`] : []),
    signup.isOpen ? 'Signup is open.' : `Signup is closed: ${signup.reason}`,
    payments,
    ...(packs.length > 0
      ? [
          'Purchases without a key, by any x402 client:',
          `  GET ${origin}/v1/btc/markets pays for one request`,
          ...(bundle
            ? [
                `  POST ${origin}/v1/billing/packs/${bundle.tierId} returns a key for ${bundle.name}`,
              ]
            : []),
          `  GET ${origin}/.well-known/x402 lists all that is sold`,
        ]
      : []),
  ]
}

/** A server on every interface is not reachable at the address `0.0.0.0` or `::`. */
const originOf = (url: URL): string =>
  url.origin.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost')

const topTierOf = (ledger: Pick<Ledger, 'listTiers'>): string =>
  ledger.listTiers().at(-1)?.tierId ?? FREE_TIER_ID

/**
 * A key for a first start; undefined if the server is reachable by others than this machine's
 * users.
 */
export async function makeLocalKey(
  context: CliContext,
  ledger: Ledger,
): Promise<string | undefined> {
  if (!isLoopback(context.config().host)) return undefined
  const nowMs = context.clock()
  const label = LOCAL_KEY_LABEL
  return ledger.atomically((transaction) => {
    if (!transaction.isNew()) return undefined
    const id = `acc_${context.createId()}`
    transaction.createAccount({ id, label }, byOperator(nowMs))
    const tierId = topTierOf(transaction)
    return issueKey(context, transaction, { accountId: id, tierId, label, nowMs }).key
  })
}

/** The command that creates another key of the highest tier in the same ledger. */
export const keyCommand = ({ invocation, env }: CliContext, ledger: Ledger): string =>
  `${placeOfLedger(env)}${invocation} keys create --tier ${topTierOf(ledger)}`

function placeOfLedger({ BOOKFEED_DATA, BOOKFEED_LEDGER }: CliContext['env']): string {
  // The address may contain a password, and the output is logged.
  if (BOOKFEED_LEDGER) return "BOOKFEED_LEDGER='postgres://…' "
  return BOOKFEED_DATA ? `BOOKFEED_DATA='${BOOKFEED_DATA.replaceAll("'", `'\\''`)}' ` : ''
}
