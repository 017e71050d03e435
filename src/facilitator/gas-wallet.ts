/**
 * The account that pays for gas. Settlements run side by side, but sign and send one after the
 * other, so that no two take the same nonce; a transaction's hash is known before the node is given
 * it.
 */
import type { Hex, PrivateKeyAccount, PublicClient } from 'viem'

import { answerOf, type Viem } from '#src/chain/node.ts'
import { isPrivateKey } from '#src/chain/payer.ts'
import { readSecretFile, SecretFault } from '#src/lib/secret-file.ts'

/** Over the estimate, in percent: other payments change what storage costs in between. */
const GAS_PERCENT = 120n
/** How nodes say that they have a transaction already. */
const knownWords = /already known|already imported|known transaction/i

export type Broadcast = {
  /** A question was not answered as a node should: nothing since then may be believed. */
  isSilent: boolean
  /** The node says that our account cannot pay for gas. */
  isOutOfGas: boolean
  /** Set before the transaction is sent: from then on it may be on its way. */
  txHash?: Hex
}

type Call = { to: Hex; data: Hex }

export type GasWallet = ReturnType<typeof createGasWallet>

/** `chainId` is that of each transaction, whatever the node says. */
export function createGasWallet(viem: Viem, account: PrivateKeyAccount, chainId: number) {
  const { address } = account
  let queue: Promise<unknown> = Promise.resolve()
  let nextNonce = 0

  async function sign(client: PublicClient, call: Call & { gas: bigint }, broadcast: Broadcast) {
    const [seen, { maxFeePerGas, maxPriorityFeePerGas }, balance] = await Promise.all([
      client.getTransactionCount({ address, blockTag: 'pending' }),
      client.estimateFeesPerGas(),
      client.getBalance({ address }),
    ])
    // Asked before anything is sent, because afterwards a refusal would prove nothing.
    broadcast.isOutOfGas = balance < call.gas * maxFeePerGas
    // The SDK that could not see everything has not checked everything.
    if (broadcast.isOutOfGas || broadcast.isSilent) throw new Error('Nothing can be sent.')
    // The node may be one of several that do not yet know of our last transaction.
    const nonce = Math.max(seen, nextNonce)
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    const transaction = { ...call, ...fees, nonce, chainId, type: 'eip1559' } as const
    return { nonce, serialized: await account.signTransaction(transaction) }
  }

  return {
    address,
    /** Returns the hash of the transaction that the node took. */
    async send(client: PublicClient, { to, data }: Call, broadcast: Broadcast): Promise<Hex> {
      // As a plain question: where it can, viem has the node write the whole transaction instead.
      const question = { from: address, to, data }
      const estimate = await client.request({ method: 'eth_estimateGas', params: [question] })
      const gas = (BigInt(estimate) * GAS_PERCENT) / 100n
      const sent = queue.then(async () => {
        const { nonce, serialized } = await sign(client, { to, data, gas }, broadcast)
        const hash = viem.keccak256(serialized)
        broadcast.txHash = hash
        try {
          await client.sendRawTransaction({ serializedTransaction: serialized })
        } catch (error) {
          if (!knownWords.test(answerOf(viem, error)?.details ?? '')) {
            nextNonce = 0
            throw error
          }
        }
        nextNonce = nonce + 1
        return hash
      })
      queue = sent.catch(() => {})
      return sent
    },
    /** After a transaction that did not come through: believes the node about the next nonce. */
    resetNonce(): void {
      nextNonce = 0
    },
  }
}

const VARIABLE = 'BOOKFEED_GAS_KEY'

/** A key, or the file of its owner that holds it. Throws `SecretFault`, which shows neither. */
export function readGasKey(value: string): Hex {
  const isHere = /^0x[0-9a-fA-F]{64}$/.test(value)
  const name = `${VARIABLE} is no private key, and the file that it names`
  const text = isHere ? value : readSecretFile(value, name)
  if (isPrivateKey(text)) return text
  const holder = isHere ? VARIABLE : `The file that ${VARIABLE} names`
  throw new SecretFault(`${holder} must hold a private key: 0x and 64 hex digits.`)
}
