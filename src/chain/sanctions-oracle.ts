/**
 * Asks contracts about an address. One without code answers nothing, which must not pass for "no".
 */
import type { OracleAnswer } from '#src/selling/screening.ts'

import { callContract, type Rpc } from './rpc.ts'

const no = `0x${'0'.repeat(64)}`
const yes = `0x${'0'.repeat(63)}1`

/** Asks Chainalysis' oracle and the issuers: whom they freeze could not pay either. */
export function createSanctionsOracle(rpc: Rpc) {
  const { sanctionsOracle, tokens } = rpc.chain
  return {
    /** Asks all at once. `address` in any case. Never rejects. */
    async isSanctioned(address: string) {
      const [oracle, ...issuers] = await Promise.all([
        ask(rpc, { to: sanctionsOracle, question: 'isSanctioned' }, address),
        ...tokens.map(({ address: to, blockList: question }) =>
          ask(rpc, { to, question }, address),
        ),
      ])
      return { oracle, issuers: combine(issuers) }
    },
  }
}

/** One hit is a hit; clear if at least one list answered and none hit. */
function combine(answers: readonly OracleAnswer[]): OracleAnswer {
  const ranked: readonly OracleAnswer[] = ['hit', 'clear', 'silent']
  return ranked.find((answer) => answers.includes(answer)) ?? 'absent'
}

async function ask(
  rpc: Rpc,
  { to, question }: { to: string; question: string },
  address: string,
): Promise<OracleAnswer> {
  try {
    const signature = `${question}(address) view returns (bool)`
    const answer = await callContract(rpc, { to, signature, args: [address.toLowerCase()] })
    if (answer === yes) return 'hit'
    if (answer === no) return 'clear'
    if (answer !== '0x') return 'silent'
    return (await rpc.getCode(to)) === '0x' ? 'absent' : 'silent'
  } catch {
    // The RPC logs it by itself; here it only matters that there is no answer.
    return 'silent'
  }
}
