import { mintKey, TEST_KEY_PREFIX, tokenOf } from '#src/domain/selling/api-key.ts'
import { type Idempotency, jsonAnswer, type Keep, type Outcome } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'
import { route } from '#src/http/route.ts'

import {
  Challenge,
  ChallengeBody,
  KeyBody,
  keyId,
  KeyList,
  LabelBody,
  NewKey,
  RotateBody,
  RotatedKey,
  SignupBody,
  TestKey,
} from './schema.ts'
import {
  createOwnKeys,
  createSignup,
  type KeepKey,
  type KeyDeps,
  type KeyOutcome,
} from './service.ts'

const shared = { tag: 'account', caching: 'no-store' } as const

type Deps = KeyDeps & { idempotency: Idempotency; hasTestMode: boolean }

export const keyRoutes = ({ idempotency, hasTestMode, ...deps }: Deps) => [
  ...(hasTestMode ? [testKeyRoute(deps)] : []),
  ...signupRoutes(createSignup(deps), idempotency),
  ...ownKeyRoutes(createOwnKeys(deps), idempotency),
]

const signupRoutes = (service: ReturnType<typeof createSignup>, idempotency: Idempotency) => [
  route({
    ...shared,
    method: 'POST',
    path: '/v1/keys/challenge',
    access: 'signup',
    operationId: 'createChallenge',
    summary: 'Begin a signup',
    description:
      'Gives a message for your wallet to sign, good for five minutes. Nothing is stored, and signing it moves no funds.',
    body: ChallengeBody,
    ok: { description: 'The message.', schema: Challenge },
    fails: ['signup_closed'],
    answer: ({ body }) => service.challenge(body.address),
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/v1/keys',
    access: 'signup',
    operationId: 'createKey',
    summary: 'Get an API key',
    description:
      "Takes the signed message of POST /v1/keys/challenge and gives a key of the wallet's account, which begins on the Free tier. An account that never paid has one key: the new one ends the old one at once. The address is screened for sanctions. The key is shown this once.",
    body: SignupBody,
    isReplayable: true,
    ok: { status: 201, description: 'The new key.', schema: NewKey },
    fails: [
      'challenge_invalid',
      'signature_invalid',
      'challenge_used',
      'key_limit',
      'challenge_expired',
      'sanctioned',
      'signup_closed',
      'screening_unavailable',
      'storage_unavailable',
    ],
    async answer({ request, body }) {
      const call = {
        scope: await service.scopeOf(body.message),
        secret: body.signature,
        body: JSON.stringify(body),
      }
      return idempotency.answer(request, call, async () => answerWith(await service.prepare(body)))
    },
  }),
]

const testKeyRoute = ({ randomBytes }: Pick<Deps, 'randomBytes'>) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/keys/test',
    access: 'open',
    operationId: 'createTestKey',
    summary: 'Get a key of test mode',
    description:
      'Gives a key `bf_test_…` to whoever asks: no wallet, and nothing is stored. It reads two simulated hours with every route, follows a live stream that repeats them, costs nothing, and may ask for a fault with the header `Bookfeed-Fault`: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`. Each answer to it has `Bookfeed-Mode: test`. All such keys of a network address share a window.',
    ok: { status: 201, description: 'The key.', schema: TestKey },
    isInMemory: true,
    answer() {
      const key = mintKey(randomBytes, TEST_KEY_PREFIX)
      return jsonResponse({ key }, { status: 201, headers: { 'Cache-Control': 'no-store' } })
    },
  })

const ownKeyRoutes = (service: ReturnType<typeof createOwnKeys>, idempotency: Idempotency) => [
  route({
    ...shared,
    path: '/v1/keys',
    access: 'key',
    operationId: 'listKeys',
    summary: "Your account's keys",
    description:
      'Keys that are valid now, oldest first. The keys themselves are never shown again.',
    ok: { description: 'The keys.', schema: KeyList },
    answer: ({ caller }) => service.list(caller),
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/v1/keys/:id/rotate',
    access: 'key',
    operationId: 'rotateKey',
    summary: 'Replace a key',
    description:
      'Gives a new key in place of one of yours. The old one continues to work for `overlapSeconds`; both share one allowance. A key that was replaced already cannot be again. With an `overlapSeconds` of 0 the key that asks may end itself, and the answer cannot be asked for again.',
    id: keyId,
    body: RotateBody,
    isReplayable: true,
    ok: { status: 201, description: 'The new key.', schema: RotatedKey },
    fails: ['unknown_key', 'key_replaced', 'key_limit', 'storage_unavailable'],
    answer({ request, caller, id, body }) {
      const call = {
        scope: `rotate ${caller.accountId}`,
        secret: tokenOf(request.headers.get('authorization')) ?? '',
        body: JSON.stringify(body),
      }
      const asked = { caller, id }
      return idempotency.answer(request, call, async () =>
        answerWith((keep: KeepKey<RotatedKey>) => service.rotate(asked, body, keep)),
      )
    },
  }),
  route({
    ...shared,
    method: 'PATCH',
    path: '/v1/keys/:id',
    access: 'key',
    operationId: 'labelKey',
    summary: 'Label a key',
    description: 'Gives one of your valid keys another label. Doing so again changes nothing.',
    id: keyId,
    body: LabelBody,
    ok: { description: 'The key as it is now.', schema: KeyBody },
    fails: ['unknown_key', 'storage_unavailable'],
    answer: ({ caller, id, body }) => service.label({ caller, id }, body),
  }),
  route({
    ...shared,
    method: 'DELETE',
    path: '/v1/keys/:id',
    access: 'key',
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'Ends one of your keys at once and for good; also the one that asks. Revoking it again changes nothing.',
    id: keyId,
    ok: { status: 204, description: 'The key is revoked.' },
    fails: ['unknown_key', 'storage_unavailable'],
    answer({ caller, id }) {
      service.revoke({ caller, id })
      return new Response(null, { status: 204, headers: { 'Cache-Control': 'no-store' } })
    },
  }),
]

const toAnswer = (made: object) => jsonAnswer(201, made, { 'Cache-Control': 'no-store' })

/** What is kept of a key is the answer in which it is shown. */
const answerWith =
  <Made extends object>(make: (keep: KeepKey<Made>) => KeyOutcome<Made>) =>
  (keep: Keep): Outcome => {
    const done = make(keep && { id: keep.id, seal: (made) => keep.seal(toAnswer(made)) })
    return 'made' in done ? { answer: toAnswer(done.made) } : done
  }
