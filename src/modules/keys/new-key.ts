/**
 * A fresh key, at signup and at rotation: what the ledger keeps of it,
 * and what its owner is shown once.
 */
import { AppError } from '#src/core/errors.ts'
import { toIso } from '#src/core/time.ts'
import { jsonAnswer, type Keep, type Outcome } from '#src/http/idempotency.ts'
import type { KeyMade, KeySecret, Once, Replayed } from '#src/ledger/ledger.ts'
import { digestOf, hintOf, holdsKey, mintKey } from '#src/selling/api-key.ts'

import type { NewKey } from './model.ts'

export type KeyDeps = {
  mint: () => string
  randomBytes: (length: number) => Uint8Array
  keysPerAccountMax: number
}

/**
 * Runs a verb of the ledger; `once` says how it keeps what was made.
 * Throws for what the verb refuses.
 */
type Verb = (key: KeySecret, once: Once | undefined) => KeyMade | Replayed

/**
 * Makes a key by a verb and answers with it. Throws
 * `invalid_parameter` for a label that holds a key.
 */
export function makeKey(
  { mint, randomBytes }: KeyDeps,
  {
    label,
    keep,
    print,
  }: { label: string | undefined; keep: Keep; print?: (key: NewKey) => NewKey },
  verb: Verb,
): Outcome {
  if (label !== undefined && holdsKey(label)) throw labelError()
  const key = mintKey(randomBytes)
  const answerOf = (made: KeyMade) => {
    const body = toNewKey(key, made)
    return jsonAnswer(201, print?.(body) ?? body, { 'Cache-Control': 'no-store' })
  }
  const once = keep && { id: keep.id, answer: (made: KeyMade) => keep.seal(answerOf(made)) }
  const secret = { id: `key_${mint()}`, digest: digestOf(key), hint: hintOf(key), label }
  const done = verb(secret, once)
  return done.kind === 'made' ? { answer: answerOf(done) } : { replayed: done.answer }
}

const toNewKey = (key: string, { key: made, account, tierId }: KeyMade): NewKey => ({
  key,
  id: made.id,
  label: made.label ?? null,
  hint: made.hint,
  tier: tierId,
  createdAt: toIso(made.createdMs),
  expiresAt: null,
  address: account.address ?? null,
})

export const keyLimitError = (max: number): AppError =>
  new AppError(
    'key_limit',
    `The account has ${max} valid keys, as many as it may have. GET /v1/keys lists them; revoke one by DELETE /v1/keys/{id}.`,
  )

const labelError = (): AppError =>
  new AppError('invalid_parameter', '`label` holds a key. It is kept in clear: choose another.', {
    param: 'label',
  })
