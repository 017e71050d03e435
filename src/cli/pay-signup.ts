import type { Payer } from '#src/chain/payer.ts'
/** From a wallet to an API key, on a server that is not trusted. */
import { createWallets } from '#src/chain/wallets.ts'
import type { SignIn } from '#src/selling/wallet.ts'

import { CliError } from './context.ts'
import { describeFault, type PayServer, toText } from './pay-server.ts'

/** Signs up and returns the key. `once` makes it safe to ask again. */
export async function signUp(server: PayServer, payer: Payer, once: string): Promise<string> {
  const body = { address: payer.address }
  const challenge = await server.ask('/v1/keys/challenge', { body })
  if (challenge.status !== 200) throw new CliError(describeFault(challenge))
  // As it came: it has line breaks.
  const message = String(challenge.body.message ?? '')
  await assertOurs(message, server, payer)
  const signature = await payer.signMessage(message)
  const headers = { 'idempotency-key': once }
  const request = { body: { message, signature, label: 'bookfeed pay' }, headers }
  const answer = await server.ask('/v1/keys', request)
  if (answer.status !== 201) throw new CliError(describeFault(answer))
  return toText(answer.body.key)
}

/** A server could pass on the message of another one, and sign in there in our name. */
async function assertOurs(message: string, { url }: PayServer, payer: Payer): Promise<void> {
  const wallets = createWallets(undefined)
  const read = await wallets.readSignIn(message)
  const isOurs = read.domain === url.host && read.address === payer.address
  if (isOurs && isWhole(read) && (await wallets.writeSignIn(read)) === message) return
  throw new CliError(
    `The server wants a message signed that is not for ${url.host} and this wallet. Nothing was signed.`,
  )
}

const isWhole = (read: Partial<SignIn>): read is SignIn =>
  (['statement', 'uri', 'chainId', 'nonce', 'issuedMs', 'expiresMs'] as const).every(
    (name) => read[name] !== undefined,
  )
