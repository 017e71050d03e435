/** Who makes a change of the ledger, as its row of the audit chain names them. */

/** `operator` uses the command line or the operator's page; `system` is the server by itself. */
export type Actor = 'operator' | 'system' | `account:${string}`

/** `nowMs`: when, Unix milliseconds. */
export type AuditContext = { actor: Actor; nowMs: number }

export const byOperator = (nowMs: number): AuditContext => ({ actor: 'operator', nowMs })
