/** Calibration tables in the format of the server, with known counts. */

import type { CalibrationTable } from '#src/domain/calibration.ts'
import { type Coin, type Source, type Timeframe, timeframeMs } from '#src/domain/market.ts'
import { edges } from '#src/extensions/calibration/table.ts'

type Wish = {
  coin: Coin
  timeframe: Timeframe
  source?: Source
  /** Standard deviation of the price from the start to the end of a window. */
  deviation?: number
  /** Number of windows at each distance. */
  count?: number
}

/** At the start and in the middle of a window, Up has won as often as the index of the distance. */
export function aCalibration({
  coin,
  timeframe,
  source = 'recorded',
  deviation = 0.001,
  count = 260,
}: Wish): CalibrationTable {
  const bins = edges.length + 1
  const counts = {
    windows: Array.from({ length: bins }, () => count),
    ups: Array.from({ length: bins }, (_, index) => Math.round((count * index) / (bins - 1))),
  }
  const moment = (part: number) => ({
    beforeEndMs: part * timeframeMs[timeframe],
    deviation: Number((deviation * Math.sqrt(part)).toPrecision(6)),
    windows: counts.windows,
    ups: counts.ups,
  })
  return {
    symbol: coin,
    timeframe,
    source,
    madeAt: '2026-01-02T00:00:00.000Z',
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-01T23:55:00.000Z',
    markets: count * bins,
    edges: [...edges],
    moments: [moment(1), moment(0.5), moment(0.1)],
  }
}
