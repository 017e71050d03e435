import { coinNames, CoinTabs } from '../../parts/links.tsx'
import './calibration.css'

import { useMemo, useState } from 'preact/hooks'

import { request, useAsked } from '../../lib/api.ts'
import type { Coin, Listed } from '../../lib/bodies.ts'
import { betterKnown, calibrate, widths } from '../../lib/calibration.ts'
import { showCount, showDate, showSome } from '../../lib/format.ts'
import { apiKey, isTestKey, PUBLIC_TEST_KEY, SAMPLE } from '../../lib/key.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { mayRead, useRights } from '../../lib/rights.ts'
import { useStore } from '../../lib/store.ts'
import { Choice } from '../../parts/choice.tsx'
import { FigureMenu } from '../../parts/figure-menu.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { TierCard } from '../../parts/tier-card.tsx'
import { Backtest } from './backtest.tsx'
import { GridFigure, ReliabilityFigure } from './grid.tsx'
import { loadPanel, MARKETS_MAX } from './load-panel.ts'
import { callOf, lengths, readView, type View } from './view.ts'

/** With fewer markets the results are not significant. */
const FEW_MARKETS = 100

/** Calibration of prices some time before the end, and the backtest of a rule. */
export function CalibrationPage({ params }: { params: Readonly<Record<string, string>> }) {
  const coin = (params.coin ?? 'btc').toLowerCase()
  const rights = useRights()
  const hasKey = useStore(apiKey.store) !== undefined
  const isIncluded = rights && mayRead(rights, { route: 'snapshots', coin })
  return (
    <div class="page">
      <div class="row spread">
        <h1>{coinNames[coin] ?? coin.toUpperCase()} calibration</h1>
        <div class="row">
          <CoinTabs base="/calibration" coin={coin} />
          <FigureMenu />
        </div>
      </div>
      {isIncluded === false && hasKey && (
        <TierCard what={`The panel of ${coin.toUpperCase()} markets`} />
      )}
      {isIncluded === undefined && <div class="page-wait" aria-busy="true" />}
      {isIncluded !== undefined && (isIncluded || !hasKey) && (
        <CoinPage
          key={coin}
          coin={coin}
          guestToken={hasKey ? undefined : tokenOfGuests(isIncluded)}
        />
      )}
    </div>
  )
}

/** The sample if it includes the panel, else test data. */
const tokenOfGuests = (isIncluded: boolean): string => (isIncluded ? SAMPLE : PUBLIC_TEST_KEY)

/** `guestToken` is sent in place of a key. */
type CoinProps = { coin: string; guestToken: string | undefined }

function CoinPage({ coin, guestToken }: CoinProps) {
  const coins = useAsked<Listed<Coin>>({
    url: '/v1/coins',
    ask: (url, { signal }) =>
      request(url, { signal, authorization: guestToken && `Bearer ${guestToken}` }),
    whose: useStore(apiKey.store),
  })
  const held = coins.data?.data.find(({ symbol }) => symbol === coin)
  if (coins.problem) return <ProblemCard problem={coins.problem} onRetry={coins.reload} />
  if (coins.data === undefined) return <div class="page-wait" aria-busy="true" />
  if (held === undefined || held.lastSnapshot === null) {
    return <p class="card note">Nothing of {coin.toUpperCase()} is recorded on this server.</p>
  }
  return <Results coin={coin} held={held} guestToken={guestToken} />
}

function Results({ coin, held, guestToken }: CoinProps & { held: Coin }) {
  const { query } = useLocation()
  const [progress, setProgress] = useState(0)
  const call = callOf(coin, readView(query, held))
  const authorization = guestToken && `Bearer ${guestToken}`
  const { data, problem, reload, isLoading } = useAsked({
    url: JSON.stringify(call),
    ask: (_, { signal }) => {
      setProgress(0)
      return loadPanel(call, { signal, authorization }, setProgress)
    },
    whose: useStore(apiKey.store),
  })
  const panel = isLoading ? undefined : data
  // The server takes no test keys.
  const isRefused = problem?.status === 401 && guestToken !== undefined
  const usualOutcome = useMemo(() => panel && betterKnown(panel.rows), [panel])
  const view = readView(query, held, usualOutcome)
  const { outcome, widthCents } = view
  const grid = useMemo(
    () => panel && calibrate(panel.rows, outcome, widthCents),
    [panel, outcome, widthCents],
  )
  const shown = grid && {
    ...grid,
    columns: grid.columns.filter(({ offsetMs }) => view.length.moments.includes(-offsetMs)),
  }
  const source = panel?.isSimulated ? 'simulated' : 'recorded'
  const figure = { coin, view, call, guestToken, source }
  if (isRefused) return <TierCard what={`The panel of ${coin.toUpperCase()} markets`} />
  return (
    <>
      <p class="note">
        How often an outcome won when its mid was at a price, some time before the end of the
        window. If prices are right, an outcome at 60¢ wins six times in ten.
      </p>
      <Filters view={view} sources={held.sources} />
      <p class="note calibration-count" aria-live="polite">
        {panel === undefined ? (
          problem === undefined && `Reading the panel: ${showSome(progress, 'market')} so far …`
        ) : (
          <>
            {panel.markets === 0
              ? `No market of ${view.timeframe} that is over`
              : `${showSome(panel.markets, 'market')} of ${view.timeframe}`}{' '}
            from {showDate(Date.parse(view.fromDay))} to {showDate(Date.parse(view.toDay))}.{' '}
            <SimulatedTag source={source} />
            {isTestKey(guestToken) && ' These are the simulated hours of the public test key.'}
            {panel.isCut &&
              ` There are more: the page reads the first ${showCount(MARKETS_MAX)}. Choose fewer days.`}
            {panel.markets > 0 &&
              panel.markets < FEW_MARKETS &&
              ' Counts are small, so the intervals are wide.'}
          </>
        )}
      </p>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {!problem && (
        <>
          <GridFigure {...figure} grid={shown} />
          <ReliabilityFigure {...figure} grid={shown} />
          <Backtest {...figure} panel={panel} />
        </>
      )}
    </>
  )
}

const timeframes = Object.keys(lengths).map((each) => [each, each] as const)
const outcomes = [
  ['up', '▲ Up'],
  ['down', '▼ Down'],
] as const
const bins = widths.map((each) => [String(each), `${each}¢`] as const)

function Filters({ view, sources }: { view: View; sources: readonly string[] }) {
  const { timeframe, outcome, widthCents, fromDay, toDay } = view
  const isMixed = sources.length > 1
  return (
    <div class="row calibration-filters">
      <Choice
        label="Length of the window"
        options={timeframes}
        value={timeframe}
        onChoose={(each) =>
          setQuery({ timeframe: each, from: undefined, moment: undefined, before: undefined })
        }
      />
      <Choice
        label="Outcome"
        options={outcomes}
        value={outcome}
        onChoose={(each) => setQuery({ outcome: each })}
      />
      <Choice
        label="Width of a bin"
        options={bins}
        value={String(widthCents)}
        onChoose={(each) => setQuery({ bins: each })}
      />
      {isMixed && (
        <Choice
          label="Source"
          options={[
            [undefined, 'Recorded'],
            ['simulated', 'Simulated'],
          ]}
          value={view.source}
          onChoose={(each) => setQuery({ source: each })}
        />
      )}
      <label class="field day-field">
        First day (UTC)
        <input
          type="date"
          value={fromDay}
          max={toDay}
          onChange={({ currentTarget: { value } }) => setQuery({ from: value || undefined })}
        />
      </label>
      <label class="field day-field">
        Last day (UTC)
        <input
          type="date"
          value={toDay}
          min={fromDay}
          onChange={({ currentTarget: { value } }) => setQuery({ to: value || undefined })}
        />
      </label>
    </div>
  )
}
