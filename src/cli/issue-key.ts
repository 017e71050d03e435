import type { ApiKey, Deed, Ledger } from '#src/ledger/ledger.ts'
import { digestOf, hintOf, mintKey } from '#src/selling/api-key.ts'
import { FREE_TIER_ID } from '#src/selling/tier.ts'

import type { CliContext } from './context.ts'

export type Issue = {
  accountId: string
  /** What to grant from now on; nothing is granted for the Free tier, which everybody has. */
  tierId: string
  /** Exclusive end of the grant; undefined for ever. */
  endMs?: number | undefined
  label?: string | undefined
  nowMs: number
}

/** Who runs the command line, at a moment. */
export const byOperator = (nowMs: number): Deed => ({ actor: 'operator', nowMs })

/**
 * Gives an account a key and a grant. The key itself is nowhere but in what is returned. Call it
 * within `ledger.atomically`: a key without its grant would be another one than was asked for.
 */
export function issueKey(
  { mint, randomBytes }: CliContext,
  ledger: Ledger,
  issue: Issue,
): { key: string; apiKey: ApiKey } {
  const { accountId, tierId, endMs, label, nowMs } = issue
  const by = byOperator(nowMs)
  if (tierId !== FREE_TIER_ID) {
    ledger.addSubscription(
      { id: `sub_${mint()}`, accountId, tierId, terms: undefined, startMs: nowMs, endMs },
      by,
    )
  }
  const key = mintKey(randomBytes)
  const id = `key_${mint()}`
  const apiKey = ledger.createKey(
    { id, accountId, digest: digestOf(key), hint: hintOf(key), label, familyId: id },
    by,
  )
  return { key, apiKey }
}
