/** Asks contracts about an address. A contract without code returns nothing, which is not "no". */
import type { OracleAnswer } from '#src/domain/selling/screening.ts'

import { callContract, type ContractQuestion, type Rpc } from './rpc.ts'

const no = `0x${'0'.repeat(64)}`
const yes = `0x${'0'.repeat(63)}1`

/** Asks Chainalysis' oracle and the token issuers: addresses that they freeze could not pay. */
export function createSanctionsOracle(rpc: Rpc) {
  const { sanctionsOracle, tokens } = rpc.chain
  return {
    /** Asks all lists concurrently. `address` in any case. Never rejects. */
    async isSanctioned(address: string) {
      const args = [address.toLowerCase()]
      const ask = (to: string, question: string) =>
        askList(rpc, { to, signature: `${question}(address) view returns (bool)`, args })
      const [oracle, ...issuers] = await Promise.all([
        ask(sanctionsOracle, 'isSanctioned'),
        ...tokens.map((token) => ask(token.address, token.blockList)),
      ])
      return { oracle, issuers: combine(issuers) }
    },
  }
}

/** `hit` if any list hits; `clear` if at least one answered and none hit. */
function combine(answers: readonly OracleAnswer[]): OracleAnswer {
  const ranked: readonly OracleAnswer[] = ['hit', 'clear', 'silent']
  return ranked.find((answer) => answers.includes(answer)) ?? 'absent'
}

async function askList(rpc: Rpc, question: ContractQuestion): Promise<OracleAnswer> {
  try {
    const answer = await callContract(rpc, question)
    if (answer === yes) return 'hit'
    if (answer === no) return 'clear'
    if (answer !== '0x') return 'silent'
    return (await rpc.getCode(question.to)) === '0x' ? 'absent' : 'silent'
  } catch {
    // The RPC logs failures itself; here it matters only that there is no answer.
    return 'silent'
  }
}
