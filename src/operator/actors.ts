/** Describes who made a change of the ledger; the audit chain stores only the ids of accounts. */
import type { Ledger } from '#src/ledger/ledger.ts'

export type DescribedActor = {
  actorKind: 'operator' | 'system' | 'account'
  /** The id of the account; null for other actors. */
  actorId: string | null
  /**
   * The name by which people know an account: its label, its wallet, or its first key; null without
   * any.
   */
  actorName: string | null
}

type Names = Pick<Ledger, 'findAccount' | 'listKeys'>

/**
 * Creates a function that describes the actors of many rows and looks up each account once. `actor`
 * is as stored in the chain.
 */
export function createActors(ledger: Names): (actor: string) => DescribedActor {
  const known = new Map<string, DescribedActor>()
  return (actor) => {
    const described = known.get(actor) ?? describe(ledger, actor)
    known.set(actor, described)
    return described
  }
}

const OF_ACCOUNT = 'account:'

function describe(ledger: Names, actor: string): DescribedActor {
  if (actor === 'operator' || actor === 'system')
    return { actorKind: actor, actorId: null, actorName: null }
  const actorId = actor.startsWith(OF_ACCOUNT) ? actor.slice(OF_ACCOUNT.length) : actor
  const { label, address } = ledger.findAccount(actorId) ?? {}
  const actorName = label ?? address ?? nameFirstKey(ledger, actorId) ?? null
  return { actorKind: 'account', actorId, actorName }
}

function nameFirstKey(ledger: Names, accountId: string): string | undefined {
  const keys = ledger.listKeys(accountId)
  const key = keys.find(({ label }) => label !== undefined) ?? keys[0]
  return key && `key ${key.label ?? `…${key.hint}`}`
}

/** Formats an actor on one line: `account Desk 4 (acc_…)`. */
export function showActor({ actorKind, actorId, actorName }: DescribedActor): string {
  if (actorId === null) return actorKind
  return actorName === null ? `${actorKind} ${actorId}` : `${actorKind} ${actorName} (${actorId})`
}
