import { type Static, Type } from '@sinclair/typebox'

import { choice, nullable, object, onePageOf, text, time, timeOrNull } from '#src/http/fields.ts'
import { expecting } from '#src/http/kinds.ts'

const address = expecting(
  'an address: 0x and 40 hex digits',
  Type.String({
    pattern: '^0x[0-9a-fA-F]{40}$',
    description: 'Address of your wallet: `0x` and 40 hex digits, case-insensitive.',
    examples: ['0x52908400098527886e0f7030069857d2e4169ee7'],
  }),
)

/** Without control characters, because labels are shown in lists and on terminals. */
const label = expecting(
  'a string of 1 to 60 characters without control characters',
  Type.String({
    minLength: 1,
    maxLength: 60,
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
    description: 'Label of your choice.',
    examples: ['backtester'],
  }),
)
const shownLabel = nullable(
  Type.String({ examples: ['backtester'] }),
  'Your label; null if there is none.',
)

export const keyId = text('Id of the key; not a secret.', 'key_6f1c0a9be2d74c55a1d0f4a2b7c3e918')
const hint = text('Last characters of the key.', 'x7Qe')

export const ChallengeBody = Type.Object({ address })

export const Challenge = object('Challenge', {
  message: Type.String({
    description:
      'Sign-In-with-Ethereum message (EIP-4361). Have the wallet sign it exactly as it is.',
    examples: [
      'api.example.com wants you to sign in with your Ethereum account:\n0x52908400098527886E0F7030069857D2E4169EE7\n\nSign in to Bookfeed to get an API key. This costs nothing and moves no funds.\n\nURI: https://api.example.com\nVersion: 1\nChain ID: 137\nNonce: 019d8b0f6c4051c2b0d7a39e4f8862d1c5a07be93d1684f2aa90e7c35b1d2f48\nIssued At: 2026-04-14T08:00:00.000Z\nExpiration Time: 2026-04-14T08:05:00.000Z',
    ],
  }),
  nonce: text(
    'Nonce of the message.',
    '019d8b0f6c4051c2b0d7a39e4f8862d1c5a07be93d1684f2aa90e7c35b1d2f48',
  ),
  expiresAt: time('Expiry, exclusive.', '2026-04-14T08:05:00.000Z'),
})
export type Challenge = Static<typeof Challenge>

export const SignupBody = Type.Object({
  message: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: '`message` of POST /v1/keys/challenge, unchanged.',
    examples: Challenge.properties.message.examples as string[],
  }),
  signature: expecting(
    'a string of 0x and pairs of hex digits',
    Type.String({
      // Signatures of contract wallets may be long.
      maxLength: 16_384,
      pattern: '^0x([0-9a-fA-F]{2})+$',
      description: "The wallet's signature of the message (EIP-191 or ERC-1271): `0x` and hex.",
      examples: [`0x${'5a'.repeat(64)}1b`],
    }),
  ),
  label: Type.Optional(label),
  keepKeys: Type.Optional(
    Type.Boolean({
      description:
        'True to make a key only if the account has no valid one; otherwise the response is 409 `key_limit`. By default a key is always made, and if the account has bought nothing, the old key ends.',
      examples: [true],
    }),
  ),
})
export type SignupBody = Static<typeof SignupBody>

export const LabelBody = Type.Object({ label })

export const RotateBody = Type.Object({
  overlapSeconds: Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 86_400,
    description: 'Seconds for which the old key remains valid; 0 ends it at once.',
    examples: [3600],
  }),
  label: Type.Optional(label),
})
export type RotateBody = Static<typeof RotateBody>

export const NewKey = object('NewKey', {
  key: text(
    'The API key, shown only once. Store it as a secret.',
    'bf_live_0kT9rWq2mZs5YvC8xHd4Bn7LgJ1a3fPuEo6R',
  ),
  id: keyId,
  label: shownLabel,
  hint,
  tier: text("Id of the account's tier.", 'free'),
  createdAt: time('Time of creation.'),
  expiresAt: timeOrNull('Always null: a new key does not expire.'),
  address: nullable(
    Type.String({ examples: ['0x52908400098527886e0f7030069857d2e4169ee7'] }),
    'Wallet of the account in lower case; null for an account made by the operator.',
  ),
})
export type NewKey = Static<typeof NewKey>

export const TestKey = object('TestKey', {
  key: text(
    'A test key. It reads simulated data only and is not a secret.',
    'bf_test_PublicKeyForTestsOfBookfeed2uYmF1',
  ),
})

export const RotatedKey = object('RotatedKey', {
  ...NewKey.properties,
  replaces: Type.Object(
    { id: keyId, expiresAt: time('End of the old key, exclusive.') },
    { description: 'Id of the replaced key.' },
  ),
})
export type RotatedKey = Static<typeof RotatedKey>

export const KeyBody = object('Key', {
  id: keyId,
  label: shownLabel,
  hint,
  status: choice(['active', 'expiring'], '`expiring` if the key was replaced.'),
  isCurrent: Type.Boolean({ description: 'True for the key of this request.' }),
  createdAt: time('Time of creation.'),
  expiresAt: timeOrNull('Expiry, exclusive; null if the key does not expire.'),
  lastUsedAt: timeOrNull('Time of the last use, accurate to seconds; null if never used.'),
})
export type KeyBody = Static<typeof KeyBody>

export const KeyList = onePageOf(KeyBody, 'Valid keys, oldest first.')
export type KeyList = Static<typeof KeyList>
