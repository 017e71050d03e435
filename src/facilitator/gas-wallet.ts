/**
 * The account that pays for gas. Settlements run side by side, but sign and send one after the other, so that
 * no two take the same nonce; and a transaction's hash is known before the node is given it, so that it is
 * not lost with the node's answer.
 */
import type { Hex, PrivateKeyAccount, PublicClient } from 'viem'

import { isKnownAlready, POLYGON_CHAIN_ID, type Viem, type Watch } from './polygon-node.ts'

/** Over the estimate, in percent: other payments change what storage costs in between. */
const GAS_PERCENT = 120n

export type Broadcast = Watch & {
  /** Set before the transaction is sent: from then on it may be on its way, whatever the node says. */
  txHash: Hex | undefined
}

export type GasWallet = {
  address: Hex
  /** Returns the hash of the transaction that the node took. */
  send(client: PublicClient, call: { to: Hex; data: Hex }, broadcast: Broadcast): Promise<Hex>
  /** After a transaction that did not come through: believes the node about the next nonce. */
  resetNonce(): void
}

type Call = { to: Hex; data: Hex; gas: bigint }

export function createGasWallet(viem: Viem, account: PrivateKeyAccount): GasWallet {
  let turn: Promise<unknown> = Promise.resolve()
  let nextNonce = 0

  async function sign(client: PublicClient, call: Call, broadcast: Broadcast) {
    const { address } = account
    const [seen, { maxFeePerGas, maxPriorityFeePerGas }, balance] = await Promise.all([
      client.getTransactionCount({ address, blockTag: 'pending' }),
      client.estimateFeesPerGas(),
      client.getBalance({ address }),
    ])
    // Asked before anything is sent, because afterwards a refusal would prove nothing.
    broadcast.isOutOfGas = balance < call.gas * maxFeePerGas
    // Whoever could not see everything has not checked everything.
    if (broadcast.isOutOfGas || broadcast.isSilent) throw new Error('Nothing can be sent.')
    // The node may be one of several that do not yet know of our last transaction.
    const nonce = Math.max(seen, nextNonce)
    // Of this chain whatever the node says: on another one nobody could use it.
    const serialized = await account.signTransaction({
      ...call,
      maxFeePerGas,
      maxPriorityFeePerGas,
      nonce,
      chainId: POLYGON_CHAIN_ID,
      type: 'eip1559',
    })
    return { nonce, serialized }
  }

  async function signAndSend(client: PublicClient, call: Call, broadcast: Broadcast): Promise<Hex> {
    const { nonce, serialized } = await sign(client, call, broadcast)
    const hash = viem.keccak256(serialized)
    broadcast.txHash = hash
    try {
      await client.sendRawTransaction({ serializedTransaction: serialized })
    } catch (error) {
      if (!isKnownAlready(viem, error)) {
        nextNonce = 0
        throw error
      }
    }
    nextNonce = nonce + 1
    return hash
  }

  return {
    address: account.address,
    async send(client, { to, data }, broadcast) {
      // As a plain question: where it can, viem has the node write the whole transaction instead.
      const question = { from: account.address, to, data }
      const estimate = await client.request({ method: 'eth_estimateGas', params: [question] })
      const gas = (BigInt(estimate) * GAS_PERCENT) / 100n
      const sent = turn.then(() => signAndSend(client, { to, data, gas }, broadcast))
      turn = sent.catch(() => {})
      return sent
    },
    resetNonce() {
      nextNonce = 0
    },
  }
}
