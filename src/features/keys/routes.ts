import { Elysia } from 'elysia'

import { createApiKey, TEST_KEY_PREFIX, tokenOf } from '#src/domain/selling/api-key.ts'
import type { Api } from '#src/http/api.ts'
import type { Idempotency } from '#src/http/idempotency.ts'
import { jsonResponse } from '#src/http/json.ts'

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
import { createKeyService, type KeyOptions } from './service.ts'

const shared = { caching: 'no-store' } as const

export function keyRoutes(api: Api, options: KeyOptions & { idempotency: Idempotency }) {
  const { idempotency } = options
  const service = createKeyService(options)
  return new Elysia({ name: 'keys', tags: ['account'] })
    .use(api)
    .post('/v1/keys/challenge', ({ body }) => service.challenge(body.address), {
      openTo: 'signup',
      ...shared,
      body: ChallengeBody,
      fails: ['signup_closed'],
      response: { 200: Challenge },
      answers: { description: 'The message.' },
      detail: {
        operationId: 'createChallenge',
        summary: 'Begin a signup',
        description:
          'Gives a message for your wallet to sign, good for five minutes. Nothing is stored, and signing it moves no funds.',
      },
    })
    .post(
      '/v1/keys',
      async ({ request, body }) => {
        const call = {
          scope: await service.signupScope(body.message),
          secret: body.signature,
          body: JSON.stringify(body),
        }
        return idempotency.answer(request, call, () => service.signUp(body))
      },
      {
        openTo: 'signup',
        ...shared,
        body: SignupBody,
        isReplayable: true,
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
        response: { 201: NewKey },
        answers: { status: 201, description: 'The new key.' },
        detail: {
          operationId: 'createKey',
          summary: 'Get an API key',
          description:
            "Takes the signed message of POST /v1/keys/challenge and gives a key of the wallet's account, which begins on the Free tier. An account that never paid has one key: the new one ends the old one at once. The address is screened for sanctions. The key is shown this once.",
        },
      },
    )

    .get('/v1/keys', ({ caller }) => service.list(caller), {
      access: 'key',
      ...shared,
      response: { 200: KeyList },
      answers: { description: 'The keys.' },
      detail: {
        operationId: 'listKeys',
        summary: "Your account's keys",
        description:
          'Keys that are valid now, oldest first. The keys themselves are never shown again.',
      },
    })
    .post(
      '/v1/keys/:id/rotate',
      ({ request, caller, params: { id }, body }) => {
        const call = {
          scope: `rotate ${caller.accountId}`,
          secret: tokenOf(request.headers.get('authorization')) ?? '',
          body: JSON.stringify(body),
        }
        return idempotency.answer(
          request,
          call,
          async () => (keep) => service.rotate(caller, id, body, keep),
        )
      },
      {
        access: 'key',
        ...shared,
        id: keyId,
        body: RotateBody,
        isReplayable: true,
        fails: ['unknown_key', 'key_replaced', 'key_limit', 'storage_unavailable'],
        response: { 201: RotatedKey },
        answers: { status: 201, description: 'The new key.' },
        detail: {
          operationId: 'rotateKey',
          summary: 'Replace a key',
          description:
            'Gives a new key in place of one of yours. The old one continues to work for `overlapSeconds`; both share one allowance. A key that was replaced already cannot be again. With an `overlapSeconds` of 0 the key that asks may end itself, and the answer cannot be asked for again.',
        },
      },
    )
    .patch(
      '/v1/keys/:id',
      ({ caller, params: { id }, body }) => service.label(caller, id, body.label),
      {
        access: 'key',
        ...shared,
        id: keyId,
        body: LabelBody,
        fails: ['unknown_key', 'storage_unavailable'],
        response: { 200: KeyBody },
        answers: { description: 'The key as it is now.' },
        detail: {
          operationId: 'labelKey',
          summary: 'Label a key',
          description:
            'Gives one of your valid keys another label. Doing so again changes nothing.',
        },
      },
    )
    .delete(
      '/v1/keys/:id',
      ({ caller, params: { id } }) => {
        service.revoke(caller, id)
        return new Response(null, { status: 204, headers: { 'Cache-Control': 'no-store' } })
      },
      {
        access: 'key',
        ...shared,
        id: keyId,
        fails: ['unknown_key', 'storage_unavailable'],
        answers: { status: 204, description: 'The key is revoked.' },
        detail: {
          operationId: 'revokeKey',
          summary: 'Revoke a key',
          description:
            'Ends one of your keys at once and for good; also the one that asks. Revoking it again changes nothing.',
        },
      },
    )
}

/** For a server with a test server behind the same port. */
export const testKeyRoutes = (api: Api, randomBytes: KeyOptions['randomBytes']) =>
  new Elysia({ name: 'test-keys', tags: ['account'] }).use(api).post(
    '/v1/keys/test',
    () => {
      const key = createApiKey(randomBytes, TEST_KEY_PREFIX)
      return jsonResponse({ key }, { status: 201, headers: { 'Cache-Control': 'no-store' } })
    },
    {
      openTo: 'open',
      ...shared,
      isInMemory: true,
      response: { 201: TestKey },
      answers: { status: 201, description: 'The key.' },
      detail: {
        operationId: 'createTestKey',
        summary: 'Get a test key',
        description:
          'Returns a sandbox key, `bf_test_…`, without a wallet; the server stores nothing. It reads two simulated hours with every route, follows a live stream that repeats them, and requests faults with the header `Bookfeed-Fault`: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`. Each response to it has `Bookfeed-Mode: test`. All test keys of a network address share one rate window.',
      },
    },
  )
