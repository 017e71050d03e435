/** Lines in the format of recorders. */

/**
 * A snapshot object in the recorded format; `changes` replace, add or (undefined) remove members.
 */
export function aRecord(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: '52afcae590bdca530ad679b2f4e164ec8e68bedd',
    assetId: '104472376509976988766346716475120511145011517755906344501669377783651998139803',
    conditionId: `0x${'1a'.repeat(32)}`,
    symbol: 'btc',
    outcome: 'down',
    timeframe: '5m',
    timestamp: '2026-04-14T08:00:10.672Z',
    bids: [
      { price: '0.49', size: '309.24' },
      { price: '0.5', size: '2747.1' },
    ],
    asks: [
      { price: '0.52', size: '173.98' },
      { price: '0.51', size: '299.43' },
    ],
    ...changes,
  }
}

/**
 * `count` lines of one market, one second apart, each with a different book; ends with a newline.
 */
export function someLines(count: number, changes: Record<string, unknown> = {}): string {
  const startMs = Date.UTC(2026, 3, 14, 8)
  const lines = Array.from({ length: count }, (_, index) => {
    const timestamp = new Date(startMs + index * 1000).toISOString()
    const bids = [{ price: '0.5', size: String(index + 1) }]
    return JSON.stringify(aRecord({ id: `row-${index}`, timestamp, bids, ...changes }))
  })
  return `${lines.join('\n')}\n`
}
