/**
 * Makes sense of what a node answers, which is as good as anything from the network. Each reader
 * returns undefined for an honest "no such thing" (null), and null for what is no answer.
 */
import type { Hex } from 'viem'

export type Block = { number: number; hash: Hex; /** Unix seconds. */ time: bigint }

/** Addresses, topics and hashes in lower case. */
export type ChainLog = {
  address: string
  topics: readonly string[]
  data: Hex
  blockNumber: number
  blockHash: string
  txHash: string
  logIndex: number
}

export type Receipt = {
  isSuccess: boolean
  blockNumber: number
  blockHash: string
  txHash: string
  /** In the order in which they came to be. */
  logs: readonly ChainLog[]
}

type Fields = Record<string, unknown>

export const toQuantity = (number: number): Hex => `0x${number.toString(16)}`

const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

export const readHex = (value: unknown): Hex | null => (isHex(value) ? value : null)

export function readBlock(value: unknown): Block | undefined | null {
  if (value === null) return undefined
  if (!isFields(value)) return null
  const [number, hash] = [readNumber(value.number), readBytes(value.hash, 32)]
  if (number === null || hash === null || !isQuantity(value.timestamp)) return null
  return { number, hash, time: BigInt(value.timestamp) }
}

export function readReceipt(value: unknown): Receipt | undefined | null {
  if (value === null) return undefined
  if (!isFields(value)) return null
  const [blockNumber, logs] = [readNumber(value.blockNumber), readLogs(value.logs)]
  const [blockHash, txHash] = [readBytes(value.blockHash, 32), readBytes(value.transactionHash, 32)]
  if (blockNumber === null || logs === null || blockHash === null || txHash === null) return null
  if (value.status !== '0x0' && value.status !== '0x1') return null
  return { isSuccess: value.status === '0x1', blockNumber, blockHash, txHash, logs }
}

export function readInput(
  value: unknown,
): { to: string | undefined; input: Hex } | undefined | null {
  if (value === null) return undefined
  if (!isFields(value) || !isHex(value.input)) return null
  // A transaction that makes a contract calls none.
  const to = value.to === null ? undefined : readBytes(value.to, 20)
  return to === null ? null : { to, input: value.input }
}

/**
 * Logs of blocks that count: one of a block that was taken back is left
 * out, as is one of no block yet.
 */
export function readLogs(value: unknown): ChainLog[] | null {
  if (!Array.isArray(value)) return null
  const logs: ChainLog[] = []
  for (const entry of value as unknown[]) {
    if (isFields(entry) && (entry.removed === true || entry.blockHash === null)) continue
    const log = readLog(entry)
    if (log === null) return null
    logs.push(log)
  }
  return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
}

function readLog(value: unknown): ChainLog | null {
  if (!isFields(value) || !isHex(value.data)) return null
  const [address, topics] = [readBytes(value.address, 20), readTopics(value.topics)]
  const [blockNumber, logIndex] = [readNumber(value.blockNumber), readNumber(value.logIndex)]
  const [blockHash, txHash] = [readBytes(value.blockHash, 32), readBytes(value.transactionHash, 32)]
  if (address === null || topics === null || blockNumber === null) return null
  if (logIndex === null || blockHash === null || txHash === null) return null
  return { address, topics, data: value.data, blockNumber, blockHash, txHash, logIndex }
}

function readTopics(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  const topics = (value as unknown[]).map((topic) => readBytes(topic, 32))
  return topics.every((topic) => topic !== null) ? topics : null
}

const isQuantity = (value: unknown): value is Hex => isHex(value) && value.length > '0x'.length

function readNumber(value: unknown): number | null {
  const number = isQuantity(value) ? Number(value) : Number.NaN
  return Number.isSafeInteger(number) ? number : null
}

const readBytes = (value: unknown, bytes: number): Hex | null =>
  isHex(value) && value.length === '0x'.length + 2 * bytes ? (value.toLowerCase() as Hex) : null
