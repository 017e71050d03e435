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
        summary: 'Create a sign-in message',
        description:
          'Returns a message for your wallet to sign, valid for five minutes. The server stores nothing, and the signature moves no funds.',
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
            "Takes the signed message of POST /v1/keys/challenge and returns a key of the wallet's account, which starts on the Free tier. An account that never paid has one key: the new key ends the old one at once. The address is screened for sanctions. The key is shown only once.",
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
        summary: 'List keys',
        description:
          'Valid keys of your account, oldest first. The secret keys are never shown again.',
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
            'Returns a new key in place of one of yours. The old key remains valid for `overlapSeconds`; both share one rate limit. A key can be replaced only once. If `overlapSeconds` is 0 and the request uses that key itself, the request cannot be repeated.',
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
        answers: { description: 'The updated key.' },
        detail: {
          operationId: 'labelKey',
          summary: 'Label a key',
          description: 'Changes the label of one of your valid keys. The request is idempotent.',
        },
      },
    )
    .delete(
      '/v1/keys/:id',
      async ({ caller, params: { id } }) => {
        await service.revoke(caller, id)
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
            'Ends one of your keys at once and permanently, including the key of the request itself. The request is idempotent.',
        },
      },
    )
}

/** Routes of a server that also serves the sandbox on its port. */
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
      neverFails: ['internal'],
      response: { 201: TestKey },
      answers: { status: 201, description: 'The key.' },
      detail: {
        operationId: 'createTestKey',
        summary: 'Get a test key',
        description:
          'Returns a sandbox key, `bf_test_…`, without a wallet; the server stores nothing. The key works on every route, with two hours of simulated data and a live stream that repeats them. To simulate a fault, send the header `Bookfeed-Fault`: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`. Each response has `Bookfeed-Mode: test`. All test keys of a network address share one rate limit.',
      },
    },
  )
