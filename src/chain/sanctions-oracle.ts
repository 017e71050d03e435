/**
 * Asks contracts on Polygon whether an address is sanctioned or blocked. A question to an address
 * without code is answered with nothing, which must never pass for "no".
 */
import type { OracleAnswer } from '#src/selling/screening.ts'

import type { Hex } from './hex.ts'
import type { Rpc } from './rpc.ts'

/** What contracts on the chain say of an address. */
export type ChainAnswers = { oracle: OracleAnswer; issuers: OracleAnswer }

export type SanctionsOracle = {
  /** Asks the oracle and the issuers at once. `address` in any case. Never rejects. */
  isSanctioned(address: string): Promise<ChainAnswers>
}

/** A contract with one question: a function from an address to a boolean. */
type BlockList = { contract: Hex; question: string }

/** Chainalysis' oracle; the same address on most chains. */
const chainalysis: BlockList = {
  contract: '0x40C57923924B5c5c5455c48D93317139ADDaC8fb',
  question: 'isSanctioned',
}

/** USDC and USDT: their issuers freeze what these name, so it could not pay either. */
const issuers: readonly BlockList[] = [
  { contract: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', question: 'isBlacklisted' },
  { contract: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', question: 'isBlocked' },
]

const no = `0x${'0'.repeat(64)}`
const yes = `0x${'0'.repeat(63)}1`

export function createSanctionsOracle(rpc: Rpc): SanctionsOracle {
  return {
    async isSanctioned(address) {
      const [oracle, ...answers] = await Promise.all([
        ask(rpc, chainalysis, address),
        ...issuers.map((list) => ask(rpc, list, address)),
      ])
      return { oracle, issuers: combine(answers) }
    },
  }
}

/** One hit is a hit; clear if at least one list answered and none hit. */
function combine(answers: readonly OracleAnswer[]): OracleAnswer {
  const ranked: readonly OracleAnswer[] = ['hit', 'clear', 'silent']
  return ranked.find((answer) => answers.includes(answer)) ?? 'absent'
}

async function ask(rpc: Rpc, list: BlockList, address: string): Promise<OracleAnswer> {
  try {
    const data = await encode(list.question, address)
    const answer = await rpc.call({ to: list.contract, data })
    if (answer === yes) return 'hit'
    if (answer === no) return 'clear'
    if (answer !== '0x') return 'silent'
    return (await rpc.getCode(list.contract)) === '0x' ? 'absent' : 'silent'
  } catch {
    // The RPC tells the log by itself; here it only matters that there is no answer.
    return 'silent'
  }
}

async function encode(question: string, address: string): Promise<Hex> {
  const { encodeFunctionData, getAddress, parseAbi } = await import('viem')
  const abi = parseAbi([`function ${question}(address) view returns (bool)`] as readonly string[])
  return encodeFunctionData({ abi, functionName: question, args: [getAddress(address)] })
}
