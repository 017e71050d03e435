import type { Hex } from 'viem'

import { type BlockTag, type Rpc, RpcFault } from './rpc.ts'

/** A function of a contract, as Solidity writes it, and what it is asked. */
export type ContractQuestion = {
  to: string
  /** Such as `balanceOf(address) returns (uint256)`. */
  signature: string
  args: readonly unknown[]
  block?: BlockTag | undefined
}

const wordPattern = /^0x[0-9a-f]{64}$/i

/**
 * What a contract answers: `0x` without such a function or without code, undefined if it reverts.
 */
export async function callContract(
  rpc: Pick<Rpc, 'call'>,
  { to, signature, args, block }: ContractQuestion,
): Promise<Hex | undefined> {
  const { encodeFunctionData, parseAbi } = await import('viem')
  const abi = parseAbi([`function ${signature}`] as readonly string[])
  return rpc.call({ to, data: encodeFunctionData({ abi, args }) }, block)
}

/** The word that a contract answers with; undefined if it reverts or has no such function. */
export async function askContract(
  rpc: Pick<Rpc, 'call'>,
  question: ContractQuestion,
): Promise<Hex | undefined> {
  const answer = await callContract(rpc, question)
  return answer !== undefined && wordPattern.test(answer) ? answer : undefined
}

/** As `askContract`, of a function that always answers: throws `RpcFault` where it does not. */
export async function askWord(rpc: Rpc, question: ContractQuestion): Promise<bigint> {
  const answer = await askContract(rpc, question)
  if (answer !== undefined) return BigInt(answer)
  throw new RpcFault(`The contract ${question.to} gives no answer to ${question.signature}.`)
}

/** An address as one of the 32-byte topics of a log. */
export const toTopic = (address: string): Hex =>
  `0x${address.slice('0x'.length).toLowerCase().padStart(64, '0')}`
