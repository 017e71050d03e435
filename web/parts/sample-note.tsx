import { facts } from '../lib/facts.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'

/** Names the data that can be read without a key; empty for a visitor with a key. */
export function SampleNote() {
  const hasKey = useStore(apiKey.store) !== undefined
  const { sample, coins = {} } = facts
  if (hasKey || sample === undefined) return null
  const isAll = sample.coins.length === Object.keys(coins).length
  return (
    <p class="note">
      Without a key, you see lists and prices of{' '}
      {isAll ? 'all coins' : sample.coins.join(', ').toUpperCase()}
      {sample.market && (
        <>
          , and every book of {sample.sources.length > 0 && 'simulated markets and of '}
          <a href={`/markets/${sample.market.symbol}/${sample.market.conditionId}`}>
            one finished market
          </a>
        </>
      )}
      .{' '}
      {!isAll && (
        <>
          <a href="/account">Get a key</a> for the other coins.
        </>
      )}
    </p>
  )
}
