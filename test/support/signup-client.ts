/** A wallet that signs up and checks every response. */
import { expect } from 'bun:test'

import { Value } from '@sinclair/typebox/value'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { NewKey } from '#src/features/keys/schema.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { createHarness, NOW_MS } from './harness.ts'
import { readProblem, type Send } from './page-client.ts'

/** The options of a POST of JSON. */
export const asJson = (body: unknown, headers = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** A new wallet and its requests to a server. */
export function createSigner(send: Send) {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const address = wallet.address.toLowerCase()
  const sign = (message: string): Promise<string> => wallet.signMessage({ message })

  const challenge = async (): Promise<string> => {
    const response = await send('/v1/keys/challenge', asJson({ address: wallet.address }))
    expect(response.status).toBe(200)
    return ((await response.json()) as { message: string }).message
  }
  /** The body of a signup that must succeed. */
  const signed = async (more = {}) => {
    const message = await challenge()
    return { message, signature: await sign(message), ...more }
  }
  const signUp = async (more = {}): Promise<NewKey> => {
    const response = await send('/v1/keys', asJson(await signed(more)))
    return readKey(response)
  }
  return { address, sign, challenge, signed, signUp }
}

/** A server and a wallet that signs up to it. */
export function createSignupRig(options: Parameters<typeof createHarness>[0] = {}) {
  const harness = createHarness(options)
  const signer = createSigner(harness.send)
  const signUp = (body: unknown, headers = {}) => harness.send('/v1/keys', asJson(body, headers))
  const refusal = async (body: unknown) => readProblem(await signUp(body))
  const accountOf = (address = signer.address) => harness.ledger.findAccountByAddress(address)
  return { ...harness, signer, signUp, refusal, accountOf }
}

/** Marks a wallet as known to the operator, so that its account may have several keys. */
export const vouchFor = (ledger: Ledger, address: string) =>
  ledger.createAccount({ id: `acc_${address}`, address }, { actor: 'operator', nowMs: NOW_MS })

/** Reads a response that must contain a new key. */
export async function readKey(response: Response): Promise<NewKey> {
  const body: unknown = await response.json()
  if (response.status !== 201) expect([response.status, body]).toEqual([201, {}])
  // RotatedKey has one member more.
  expect([...Value.Errors(NewKey, body)]).toEqual([])
  return body as NewKey
}
