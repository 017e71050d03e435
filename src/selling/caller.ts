import type { Standing } from './subscription.ts'

/** Whose key a request came with: a key that is valid now. */
export type Caller = {
  keyId: string
  accountId: string
  /** Keys that replaced one another share one rate window. */
  familyId: string
  /** True while the account's address is on a sanctions list. */
  isBlocked: boolean
  standing: Standing
}
