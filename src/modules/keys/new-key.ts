import { AppError } from '#src/core/errors.ts'
/** Making a key, at signup and at rotation; to be called within the transaction that wants it. */
import { toIso } from '#src/core/time.ts'
import { type Account, type Deed, findEndedFamily, type LedgerStore } from '#src/ledger/ledger.ts'
import { digestOf, hintOf, holdsKey, mintKey } from '#src/selling/api-key.ts'
import { standingAt } from '#src/selling/subscription.ts'

import type { NewKey } from './model.ts'

export type KeyMakerDeps = {
  ledger: LedgerStore
  mint: () => string
  randomBytes: (length: number) => Uint8Array
  keysPerAccountMax: number
}

export type Wish = {
  account: Account
  label: string | undefined
  /** Of the key that this one replaces. */
  familyId?: string
  /** Valid keys that do not count, because this one takes their place. */
  replacedCount?: number
}

export type MakeKey = (wish: Wish, deed: Deed) => NewKey

/** Creates what makes keys. The result throws `key_limit`, and `invalid_parameter` for a label. */
export function createKeyMaker({
  ledger,
  mint,
  randomBytes,
  keysPerAccountMax,
}: KeyMakerDeps): MakeKey {
  return ({ account, label, familyId, replacedCount = 0 }, deed) => {
    const { nowMs } = deed
    if (label !== undefined && holdsKey(label)) throw refuseLabel()
    if (ledger.countValidKeys(account.id, nowMs) - replacedCount >= keysPerAccountMax) {
      throw refuseMore(keysPerAccountMax)
    }
    const id = `key_${mint()}`
    const key = mintKey(randomBytes)
    const hint = hintOf(key)
    const draft = { id, accountId: account.id, digest: digestOf(key), hint, label }
    const family = familyId ?? findEndedFamily(ledger.listKeys(account.id), nowMs) ?? id
    const { createdMs } = ledger.createKey({ ...draft, familyId: family }, deed)
    const { terms } = standingAt(ledger.listSubscriptions(account.id), ledger.listTiers(), nowMs)
    return {
      key,
      id,
      label: label ?? null,
      hint,
      tier: terms.tierId,
      createdAt: toIso(createdMs),
      expiresAt: null,
      address: account.address ?? null,
    }
  }
}

const refuseMore = (max: number) =>
  new AppError(
    'key_limit',
    `The account has ${max} valid keys, as many as it may have. GET /v1/keys lists them; revoke one by DELETE /v1/keys/{id}.`,
  )

const refuseLabel = () =>
  new AppError('invalid_parameter', '`label` holds a key. It is kept in clear: choose another.', {
    param: 'label',
  })
