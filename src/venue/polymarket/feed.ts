import type { VenueFeed } from '../feed.ts'
import { decodeFrames, PONG } from './frames.ts'

/** The public socket of order books and trades; it needs no key. */
export const feed: VenueFeed = {
  url: 'wss://ws-subscriptions-clob.polymarket.com/ws/market',
  // Beyond 500 a connection says nothing any more, and does not say that.
  tokensMax: 200,
  ping: { text: 'PING', answer: PONG, everyMs: 10_000 },
  subscription: (assetIds, { hasLifecycle }) =>
    JSON.stringify({
      assets_ids: assetIds,
      type: 'market',
      initial_dump: true,
      ...(hasLifecycle && { custom_feature_enabled: true }),
    }),
  decode: decodeFrames,
}
