/**
 * The account that pays for gas. Settlements run side by side, but sign and send one after the
 * other, so that no two take the same nonce; a transaction's hash is known before the node is given
 * it. What the node has forgotten before it was mined is sent again, the same bytes, before
 * anything else: all later transactions would wait for its nonce.
 */

import type { Hex, PrivateKeyAccount, PublicClient } from 'viem'

import { findAnswer, type Viem } from '#src/chain/node.ts'
import { isPrivateKey } from '#src/chain/payer.ts'
import { Fault } from '#src/platform/fault.ts'
import { readSecretFile } from '#src/platform/secret-file.ts'

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

/** How many transactions are remembered that a node did not take back: their payments are resent. */
const LOST_MAX = 1000

/**
 * Each transaction has the chain id, whatever the node says. `connect` is for questions about
 * earlier transactions, whose failures say nothing of the one that is sent.
 */
export function createGasWallet(
  viem: Viem,
  account: PrivateKeyAccount,
  { chainId, connect }: { chainId: number; connect: () => PublicClient },
) {
  const { address } = account
  let queue: Promise<unknown> = Promise.resolve()
  let nextNonce = 0
  /** Transactions that were sent and are not known to be mined, by nonce. */
  let outstanding: { nonce: number; hash: Hex; serialized: Hex }[] = []
  const lost = new Set<Hex>()

  /** Runs when all before it is done, whatever came of that. */
  function withJobLock<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }

  function forget(hash: Hex): void {
    lost.add(hash)
    for (const oldest of lost) if (lost.size > LOST_MAX) lost.delete(oldest)
  }

  /** Sends again what is in no block and unknown to the node. Rejects without an answer. */
  async function restore(): Promise<void> {
    if (outstanding.length === 0) return
    const client = connect()
    const mined = await client.getTransactionCount({ address, blockTag: 'latest' })
    for (const { hash } of outstanding.filter(({ nonce }) => nonce < mined)) {
      const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] })
      // Another transaction has its nonce.
      if (receipt === null) forget(hash)
    }
    outstanding = outstanding.filter(({ nonce }) => nonce >= mined)
    for (const { nonce, hash, serialized } of outstanding) {
      const known = await client.request({ method: 'eth_getTransactionByHash', params: [hash] })
      if (known !== null) continue
      try {
        await client.sendRawTransaction({ serializedTransaction: serialized })
      } catch (error) {
        const answer = findAnswer(viem, error)
        if (answer === undefined) throw error
        if (knownWords.test(answer.details)) continue
        // The node does not want it: its nonce is free, and so are those after it.
        for (const gone of outstanding) if (gone.nonce >= nonce) forget(gone.hash)
        outstanding = outstanding.filter((kept) => kept.nonce < nonce)
        nextNonce = 0
        return
      }
    }
  }

  async function sign(client: PublicClient, call: Call & { gas: bigint }, broadcast: Broadcast) {
    const [seen, { maxFeePerGas, maxPriorityFeePerGas }, balance] = await Promise.all([
      client.getTransactionCount({ address, blockTag: 'pending' }),
      client.estimateFeesPerGas(),
      client.getBalance({ address }),
    ])
    // Asked before anything is sent, because afterwards a refusal would prove nothing.
    broadcast.isOutOfGas = balance < call.gas * maxFeePerGas
    // What could not see everything has not checked everything.
    if (broadcast.isOutOfGas || broadcast.isSilent) throw new Error('Nothing can be sent.')
    // The node may be one of several that do not yet know of our last transaction.
    const nonce = Math.max(seen, nextNonce, (outstanding.at(-1)?.nonce ?? -1) + 1)
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
      return withJobLock(async () => {
        await restore().catch(() => undefined)
        const { nonce, serialized } = await sign(client, { to, data, gas }, broadcast)
        const hash = viem.keccak256(serialized)
        broadcast.txHash = hash
        try {
          await client.sendRawTransaction({ serializedTransaction: serialized })
        } catch (error) {
          const answer = findAnswer(viem, error)
          if (!knownWords.test(answer?.details ?? '')) {
            // Without an answer the node may have it.
            if (answer === undefined) outstanding.push({ nonce, hash, serialized })
            nextNonce = 0
            throw error
          }
        }
        outstanding.push({ nonce, hash, serialized })
        nextNonce = nonce + 1
        return hash
      })
    },
    /** Sends again what the node has forgotten. Never rejects. */
    restore: (): Promise<void> => withJobLock(restore).catch(() => undefined),
    /** True of a transaction that was sent, and that its nonce will never carry out any more. */
    isLost: (hash: string): boolean => lost.has(hash as Hex),
    /** After a transaction that did not come through: believes the node about the next nonce. */
    resetNonce(): void {
      nextNonce = 0
    },
  }
}

const VARIABLE = 'BOOKFEED_GAS_KEY'

/**
 * A key, or the file of its owner that holds it. Throws a `secret_file` fault, which shows neither.
 */
export function readGasKey(value: string): Hex {
  const isHere = /^0x[0-9a-fA-F]{64}$/.test(value)
  const name = `${VARIABLE} is no private key, and the file that it names`
  const text = isHere ? value : readSecretFile(value, name)
  if (isPrivateKey(text)) return text
  const holder = isHere ? VARIABLE : `The file that ${VARIABLE} names`
  throw new Fault(`${holder} must hold a private key: 0x and 64 hex digits.`, {
    kind: 'secret_file',
  })
}
