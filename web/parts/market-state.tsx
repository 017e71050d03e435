import type { Market } from '../lib/bodies.ts'

/** The stage of a market, and who won; of a void market that it is void. */
export function MarketState({ market }: { market: Pick<Market, 'status' | 'winner' | 'result'> }) {
  const { status, winner, result } = market
  if (winner !== null) {
    return (
      <span class={`tag ${winner}`}>
        {winner === 'up' ? '▲ Up' : '▼ Down'}
        <span class="wide"> won</span>
      </span>
    )
  }
  return <span class={status === 'open' ? 'tag live' : 'tag'}>{result ?? status}</span>
}
