/** What a server prints when it listens. */
import { ifSound } from '#src/core/errors.ts'
import type { Coin, Market } from '#src/core/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { SignupState } from '#src/selling/screening.ts'

/** What holds for every server. */
export type ServerState = {
  url: URL
  signup: SignupState
  /** One line: what can be paid with, or why nothing. */
  payments: string
}

export type Greeting = ServerState & {
  history: MarketHistory
  /** The key that this start made; the only time that it is shown. */
  localKey: string | undefined
  /** Makes another key, as a shell reads it. */
  makeKey: string
}

/** The address, and commands that work as they are pasted. */
export function greet(greeting: Greeting): string[] {
  const { history } = greeting
  const origin = originOf(greeting)
  const held = ifSound(() => findHeld(history))
  const market = held?.example
  const markets = `${origin}/v1/${held?.coin ?? 'btc'}/markets`
  const lines = [...greetServer(greeting), '', ...describeKey(greeting)]
  const curl = `curl -H ${authorize(greeting)}`
  lines.push(`  ${curl} '${markets}'`)
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
        ? 'Part of the history is damaged. See: bookfeed verify'
        : 'The history has no snapshots. See: bookfeed import --help',
    )
  }
  return lines
}

/** Where it listens, and what it is open for. */
export function greetServer(state: ServerState): string[] {
  const origin = originOf(state)
  return [
    `bookfeed listens on ${origin}`,
    `Documentation: ${origin}/swagger`,
    describeSignup(state.signup),
    state.payments,
  ]
}

/** A server on every interface is reached under no address of that name. */
const originOf = ({ url }: ServerState): string =>
  url.origin.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost')

function findHeld(history: MarketHistory): {
  example?: Market | undefined
  coin?: Coin | undefined
} {
  const example = findExampleMarket(history)
  return { example, coin: (example ?? history.coinTotals(0)[0])?.coin }
}

const describeSignup = (signup: SignupState): string =>
  signup.isOpen ? 'Signup is open.' : `Signup is closed: ${signup.reason}`

function describeKey({ localKey, makeKey }: Greeting): string[] {
  if (localKey !== undefined) return ['Try, with a key made just now and shown at this start only:']
  return ['Try, with your key in $KEY. To make another one:', `  KEY=$(${makeKey})`, '']
}

/** A shell puts the variable in only between double quotes. */
const authorize = ({ localKey }: Greeting): string =>
  localKey === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${localKey}'`
