/** What the OpenAPI document says of `/v1/keys`. */
import { accessCodes } from '#src/http/access.ts'
import { bodyCodes, openApiBody } from '#src/http/body.ts'
import { idempotencyParameter, REPLAYED_HEADER } from '#src/http/idempotency.ts'
import {
  commonHeaders,
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'

import {
  Challenge,
  ChallengeBody,
  KeyList,
  KeyPath,
  NewKey,
  RotateBody,
  RotatedKey,
  SignupBody,
} from './model.ts'

const tags = ['account']
const noStoreHeader = { 'Cache-Control': textHeader('`no-store`.') }
const mintedHeaders = {
  ...noStoreHeader,
  [REPLAYED_HEADER]: textHeader('`true` on an answer that was given before; else absent.'),
}

export const challengeDetail = {
  tags,
  operationId: 'createChallenge',
  summary: 'Begin a signup',
  description:
    'Gives a message for your wallet to sign, good for five minutes. Nothing is stored, and signing it moves no funds.',
  requestBody: openApiBody(ChallengeBody),
  responses: {
    200: jsonContent('The message.', Challenge, noStoreHeader),
    ...problemResponses([...bodyCodes, ...accessCodes('signup'), 'internal', 'signup_closed']),
  },
}

export const signupDetail = {
  tags,
  operationId: 'createKey',
  summary: 'Get an API key',
  description:
    "Takes the signed message of POST /v1/keys/challenge and gives a key of the wallet's account, which begins on the Free tier. An account that never paid has one key: the new one ends the old one at once. The address is screened for sanctions. The key is shown this once.",
  parameters: [idempotencyParameter],
  requestBody: openApiBody(SignupBody),
  responses: {
    201: jsonContent('The new key.', NewKey, mintedHeaders),
    ...problemResponses([
      ...bodyCodes,
      'challenge_invalid',
      'signature_invalid',
      'challenge_used',
      'key_limit',
      'challenge_expired',
      'idempotency_mismatch',
      ...accessCodes('signup'),
      'sanctioned',
      'internal',
      'signup_closed',
      'screening_unavailable',
      'storage_unavailable',
    ]),
  },
}

export const listDetail = {
  tags,
  operationId: 'listKeys',
  summary: "Your account's keys",
  description: 'Keys that are valid now, oldest first. The keys themselves are never shown again.',
  responses: {
    200: jsonContent('The keys.', KeyList, noStoreHeader),
    ...problemResponses(['invalid_parameter', ...accessCodes('key'), 'internal']),
  },
}

export const rotateDetail = {
  tags,
  operationId: 'rotateKey',
  summary: 'Replace a key',
  description:
    'Gives a new key in the place of one of yours. The old one goes on working for `overlapSeconds`; both share one allowance. A key that was replaced already cannot be again. With an `overlapSeconds` of 0 the key that asks may end itself, and the answer cannot be asked for again.',
  parameters: [...openApiParameters(KeyPath, 'path'), idempotencyParameter],
  requestBody: openApiBody(RotateBody),
  responses: {
    201: jsonContent('The new key.', RotatedKey, mintedHeaders),
    ...problemResponses([
      ...bodyCodes,
      'unknown_key',
      'key_replaced',
      'key_limit',
      'idempotency_mismatch',
      ...accessCodes('key'),
      'internal',
      'storage_unavailable',
    ]),
  },
}

export const revokeDetail = {
  tags,
  operationId: 'revokeKey',
  summary: 'Revoke a key',
  description:
    'Ends one of your keys at once and for good; also the one that asks. Revoking it again changes nothing.',
  parameters: openApiParameters(KeyPath, 'path'),
  responses: {
    204: {
      description: 'The key is revoked.',
      headers: { ...commonHeaders, ...noStoreHeader },
    },
    ...problemResponses([
      'invalid_parameter',
      'invalid_request',
      'unknown_key',
      ...accessCodes('key'),
      'internal',
      'storage_unavailable',
    ]),
  },
}
