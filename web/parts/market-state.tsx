import type { Market } from '../lib/bodies.ts'

/** The stage of a market, and who won. */
export function MarketState({ market }: { market: Pick<Market, 'status' | 'winner'> }) {
  const { status, winner } = market
  if (winner !== null) {
    return (
      <span class={`tag ${winner}`}>
        {winner === 'up' ? '▲ up' : '▼ down'}
        <span class="wide"> won</span>
      </span>
    )
  }
  return <span class={status === 'open' ? 'tag live' : 'tag'}>{status}</span>
}
