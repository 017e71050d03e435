import type { Ledger } from '#src/ledger/ledger.ts'
import { FREE_TIER_ID } from '#src/selling/tier.ts'

import type { CliContext } from './context.ts'
import { byOperator, issueKey } from './issue-key.ts'
import { isLoopback } from './signup-state.ts'

const LABEL = 'local'

/** The highest tier that there is. */
const topTierOf = (ledger: Ledger): string => ledger.listTiers().at(-1)?.tierId ?? FREE_TIER_ID

/**
 * Makes a key of the highest tier in a ledger that never had one, so that a first start can be
 * tried out. Undefined where there was one, and where others than this machine's users reach the
 * server.
 */
export function makeLocalKey(context: CliContext, ledger: Ledger): string | undefined {
  if (!isLoopback(context.config().host)) return undefined
  const nowMs = context.clock()
  return ledger.atomically(() => {
    if (!ledger.isNew()) return undefined
    const id = `acc_${context.mint()}`
    const account = ledger.createAccount({ id, label: LABEL }, byOperator(nowMs))
    const tierId = topTierOf(ledger)
    return issueKey(context, ledger, { accountId: account.id, tierId, label: LABEL, nowMs }).key
  })
}

/** What to type for another key of the highest tier, with the same data folder. */
export function keyCommand({ invocation, env }: CliContext, ledger: Ledger): string {
  const data = env.BOOKFEED_DATA
    ? `BOOKFEED_DATA='${env.BOOKFEED_DATA.replaceAll("'", `'\\''`)}' `
    : ''
  return `${data}${invocation} keys create --tier ${topTierOf(ledger)}`
}
