/**
 * The account that pays for gas. Settlements run concurrently, but sign and send under a mutex, so
 * that no two use the same nonce. The hash of a transaction is known before it is sent. A
 * transaction that the node forgot before it was mined is sent again, byte for byte, before
 * anything else: all later transactions would wait for its nonce.
 */

import type { Hex, PrivateKeyAccount, PublicClient } from 'viem'

import { findAnswer, type Viem } from '#src/chain/node.ts'
import { isPrivateKey } from '#src/chain/payer.ts'
import { Fault } from '#src/platform/fault.ts'
import { readSecretFile } from '#src/platform/secret-file.ts'

/** Gas limit in percent of the estimate: other payments change storage costs in between. */
const GAS_PERCENT = 120n
/** Wordings of nodes that already have a transaction. */
const knownWords = /already known|already imported|known transaction/i

export type Broadcast = {
  /** A request failed other than by a valid error: nothing learned since can be trusted. */
  isSilent: boolean
  /** The node reports that our account cannot pay for gas. */
  isOutOfGas: boolean
  /** Set before the transaction is sent: from then on it may be in flight. */
  txHash?: Hex
}

type Call = { to: Hex; data: Hex }

/**
 * Number of remembered transactions that a node would not take again: their payments are resent.
 */
const LOST_MAX = 1000

/**
 * Every transaction carries the chain id, whatever the node reports. `connect` is for requests
 * about earlier transactions, whose failures do not concern the one being sent.
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

  /** Runs work after all earlier work, whether that succeeded or failed. */
  function withMutex<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }

  function forget(hash: Hex): void {
    lost.add(hash)
    for (const oldest of lost) if (lost.size > LOST_MAX) lost.delete(oldest)
  }

  /**
   * Resends transactions in no block and unknown to the node. Rejects if the node does not answer.
   */
  async function restore(): Promise<void> {
    if (outstanding.length === 0) return
    const client = connect()
    const mined = await client.getTransactionCount({ address, blockTag: 'latest' })
    for (const { hash } of outstanding.filter(({ nonce }) => nonce < mined)) {
      const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] })
      // Another transaction was mined with its nonce.
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
        // The node refuses it: its nonce is free again, and so are those after it.
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
    // Checked before anything is sent: afterwards a refusal would prove nothing.
    broadcast.isOutOfGas = balance < call.gas * maxFeePerGas
    // If a request failed, the check is incomplete.
    if (broadcast.isOutOfGas || broadcast.isSilent) throw new Error('Nothing can be sent.')
    // The node may be one of several that do not know our last transaction yet.
    const nonce = Math.max(seen, nextNonce, (outstanding.at(-1)?.nonce ?? -1) + 1)
    const fees = { maxFeePerGas, maxPriorityFeePerGas }
    const transaction = { ...call, ...fees, nonce, chainId, type: 'eip1559' } as const
    return { nonce, serialized: await account.signTransaction(transaction) }
  }

  return {
    address,
    /** Returns the hash of the transaction that the node accepted. */
    async send(client: PublicClient, { to, data }: Call, broadcast: Broadcast): Promise<Hex> {
      // A raw request: given the choice, viem lets the node fill in the whole transaction instead.
      const question = { from: address, to, data }
      const estimate = await client.request({ method: 'eth_estimateGas', params: [question] })
      const gas = (BigInt(estimate) * GAS_PERCENT) / 100n
      return withMutex(async () => {
        await restore().catch(() => undefined)
        const { nonce, serialized } = await sign(client, { to, data, gas }, broadcast)
        const hash = viem.keccak256(serialized)
        broadcast.txHash = hash
        try {
          await client.sendRawTransaction({ serializedTransaction: serialized })
        } catch (error) {
          const answer = findAnswer(viem, error)
          if (!knownWords.test(answer?.details ?? '')) {
            // Without an answer, the node may have it.
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
    /** Resends what the node has forgotten. Never rejects. */
    restore: (): Promise<void> => withMutex(restore).catch(() => undefined),
    /** True for a transaction that was sent and whose nonce can no longer execute it. */
    isLost: (hash: string): boolean => lost.has(hash as Hex),
    /** Trusts the node about the next nonce again, after a transaction that did not go through. */
    resetNonce(): void {
      nextNonce = 0
    },
  }
}

const VARIABLE = 'BOOKFEED_GAS_KEY'

/** Reads a key, or the file that holds it. Throws a `secret_file` fault, which shows neither. */
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
