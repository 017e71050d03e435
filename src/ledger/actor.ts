/** The author of a change of the ledger, as named in the audit chain. */

/** `operator` is the command line or the operator's page; `system` is the server itself. */
export type Actor = 'operator' | 'system' | `account:${string}`

/** The author and the time of a change, in Unix milliseconds. */
export type AuditContext = { actor: Actor; nowMs: number }

export const byOperator = (nowMs: number): AuditContext => ({ actor: 'operator', nowMs })
