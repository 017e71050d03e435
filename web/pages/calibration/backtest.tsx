/** The backtest of a rule that the visitor types: its trades after fees and fill, and the equity curve. */

import { useMemo, useRef, useState } from 'preact/hooks'

import { useAsked } from '../../lib/api.ts'
import {
  type Entries,
  equityOf,
  findEntries,
  type Ladders,
  limitOf,
  needsDepth,
  type Rule,
  type Run,
  runRule,
  sumUp,
  toDecimal,
  type Trade,
} from '../../lib/backtest.ts'
import type { Observation } from '../../lib/calibration.ts'
import { type Call, toCode } from '../../lib/calls.ts'
import {
  outcomeNames,
  showChange,
  showCount,
  showDollars,
  showPrice,
  showProfit,
  showShare,
  showSome,
  showSpan,
} from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { setQuery } from '../../lib/location.ts'
import type { Cell } from '../../lib/save.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Figure } from '../../parts/figure.tsx'
import { LegendKey } from '../../parts/legend-key.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { EquityChart } from './charts.tsx'
import { callsOf, type FigureProps } from './grid.tsx'
import { BOOKS_MAX, loadLadders, type Panel } from './load-panel.ts'
import { toPython } from './python-code.ts'
import { bounds } from './view.ts'

type Props = FigureProps & { panel: Panel | undefined }

const noLadders: Ladders = new Map()

export function Backtest(props: Props) {
  const { coin, view, call, guestToken, panel } = props
  const { rule } = view
  const authorization = guestToken && `Bearer ${guestToken}`
  const entries = useMemo(
    () => panel && findEntries(panel.rows, rule),
    [panel, ...Object.values(rule)],
  )
  const deep = useMemo(
    () => entries?.rows.filter((row) => needsDepth(row, rule)) ?? [],
    [entries, rule.size],
  )
  // The fee changes no entry.
  const url =
    deep.length === 0 ? undefined : JSON.stringify({ call, rule: { ...rule, feeRate: 0 } })
  const books = useAsked({
    url,
    ask: (_, { signal }) =>
      loadLadders(deep, { coin, outcome: rule.outcome }, { signal, authorization }),
    whose: useStore(apiKey.store),
  })
  const ladders = url === undefined ? noLadders : books.data
  const isReady = ladders !== undefined && !books.isLoading && !books.problem
  const run = useMemo(
    () => (entries && isReady ? runRule(entries.rows, rule, ladders) : undefined),
    [entries, isReady, ladders, rule.feeRate],
  )
  const example = entries?.rows[0]
  const calls =
    example === undefined ? callsOf(call) : [...callsOf(call), fillOf(coin, rule, example)]
  return (
    <>
      <Card title="Backtest of a rule">
        <RuleForm key={view.timeframe} rule={rule} lengthMs={view.length.lengthMs} />
        {books.problem && <ProblemCard problem={books.problem} onRetry={books.reload} />}
        {!books.problem && <RunSummary entries={entries} run={run} rule={rule} />}
      </Card>
      <EquityFigure {...props} run={run} calls={calls} />
      <SameInCode {...props} calls={calls} />
    </>
  )
}

/** Names of the fields are those of the address. */
function RuleForm({ rule, lengthMs }: { rule: Rule; lengthMs: number }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    setQuery(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, `${value}`])))
  }
  return (
    <form class="rule" onSubmit={submit}>
      <label class="field">
        Buy
        <select name="buy">
          <option value="up" selected={rule.outcome === 'up'}>
            Up
          </option>
          <option value="down" selected={rule.outcome === 'down'}>
            Down
          </option>
        </select>
      </label>
      <NumberField label="Shares" name="size" value={rule.size / 1e6} {...bounds.size} />
      <NumberField
        label="Seconds before the end"
        name="before"
        value={rule.beforeMs / 1000}
        min={0}
        max={lengthMs / 1000}
        step={1}
      />
      <label class="field">
        If its
        <select name="on">
          <option value="ask" selected={rule.measure === 'ask'}>
            best ask
          </option>
          <option value="mid" selected={rule.measure === 'mid'}>
            mid
          </option>
        </select>
      </label>
      <label class="field">
        is
        <select name="at">
          <option value="most" selected={rule.comparison === 'most'}>
            at most
          </option>
          <option value="least" selected={rule.comparison === 'least'}>
            at least
          </option>
        </select>
      </label>
      <NumberField label="Price in ¢" name="price" value={rule.price / 1e4} {...bounds.price} />
      <NumberField label="Fee rate" name="fee" value={rule.feeRate / 1e6} {...bounds.fee} />
      <Button type="submit" look="primary" text="Run" />
    </form>
  )
}

type FieldProps = {
  label: string
  name: string
  value: number
  min: number
  max: number
  step: number
}

/** An input that keeps its text until it is sent, whatever else changes on the page. */
const NumberField = ({ label, value, ...input }: FieldProps) => (
  <label class="field">
    {label}
    <input type="number" required inputMode="decimal" defaultValue={value} {...input} />
  </label>
)

type SummaryProps = { entries: Entries | undefined; run: Run | undefined; rule: Rule }

function RunSummary({ entries, run, rule }: SummaryProps) {
  const sum = useMemo(() => run && sumUp(run.trades), [run])
  const none = '–'
  const range = (low: string, high: string) => `95 % interval: ${low} to ${high}`
  const { winInterval, returnInterval } = sum ?? {}
  return (
    <>
      <div class="num" aria-live="polite">
        <Facts
          look="readout rule-results"
          rows={[
            ['Trades', run && showCount(run.trades.length)],
            ['Won', sum ? showShare(sum.wins / sum.count) : none],
            ['Mean price paid', sum ? showPrice(sum.meanPrice) : none],
            ['Mean return', sum ? showChange(sum.meanReturn) : none],
            ['Profit after fees', sum ? showProfit(sum.profit) : none],
            ['Fees', sum ? showDollars(sum.fees) : none],
            ['Max drawdown', sum ? showDollars(sum.drawdown) : none],
          ]}
        />
      </div>
      <ul class="note num rule-notes">
        {sum && winInterval && (
          <li>
            {showSome(sum.wins, 'win')} in {showSome(sum.count, 'trade')}.{' '}
            {range(showShare(winInterval.low), showShare(winInterval.high))} of wins
            {returnInterval &&
              `; ${showChange(returnInterval.low)} to ${showChange(returnInterval.high)} of the mean return, by its standard deviation`}
            .
          </li>
        )}
        {run && entries && <li>{describeRun(run, entries)}</li>}
        <li>
          {rule.measure === 'ask' && rule.comparison === 'most'
            ? `A limit order at ${showPrice(rule.price / 1e6)}`
            : 'A market order'}{' '}
          for {showSome(rule.size / 1e6, 'share')} takes the asks that rest in the outcome’s own
          book at that moment, best first, and is held to the end. Each level costs a fee of shares
          × rate × price × (1 − price), as{' '}
          <a href="/docs/data#what-an-order-would-have-cost-fill">the fill</a> has it;{' '}
          <code>feeSchedule</code> of a market is its own rate. Latency, queues and the order’s own
          effect on the market are not modelled.
        </li>
      </ul>
    </>
  )
}

function describeRun(run: Run, { leftOut, notMet }: Entries): string {
  const partial = run.trades.filter(({ isPartial }) => isPartial).length
  const parts = [
    `The price did not meet the rule in ${showSome(notMet, 'market')}`,
    leftOut.gap > 0 ? `${showCount(leftOut.gap)} were in a gap of the recording` : '',
    leftOut.noPrice > 0 ? `${showCount(leftOut.noPrice)} had no price` : '',
    run.noWinner > 0
      ? `${showCount(run.noWinner)} bought without a winner (unresolved or void)`
      : '',
    run.notFilled > 0 ? `nothing could be bought in ${showCount(run.notFilled)}` : '',
    partial > 0 ? `${showSome(partial, 'order')} filled in part` : '',
  ].filter((part) => part !== '')
  const cut =
    run.notRead > 0
      ? ` The page reads at most ${showCount(BOOKS_MAX)} books: entries from then on (${showCount(run.notRead)}) are left out. Choose fewer days or shares.`
      : ''
  return `${parts.join('; ')}.${cut}`
}

type EquityProps = Props & { run: Run | undefined; calls: readonly Call[] }

function EquityFigure({ coin, view, calls, guestToken, source, run }: EquityProps) {
  const canvasRef = useRef<HTMLCanvasElement>(null)
  const equity = useMemo(() => equityOf(run?.trades ?? []), [run])
  const last = equity.net.at(-1)
  const { rule, timeframe } = view
  const title = `Equity curve: ${outcomeNames[rule.outcome]}, ${showSpan(rule.beforeMs)} before the end`
  return (
    <Figure
      title={title}
      name={`equity-${coin}-${timeframe}`}
      source={source}
      calls={calls}
      guestToken={guestToken}
      canvas={() => canvasRef.current}
      rows={() => toRows(run?.trades ?? [])}
      legend={
        <>
          <span class="equity-net">
            <LegendKey sign="line" />
            after fees
          </span>
          <span>
            <LegendKey sign="dash" />
            before fees
          </span>
        </>
      }
    >
      <EquityChart
        equity={equity}
        canvasRef={canvasRef}
        label={
          last === undefined ? 'No trade' : `${title}; ${showProfit(last)} after the last trade`
        }
      />
    </Figure>
  )
}

function* toRows(trades: readonly Trade[]): Generator<Cell[]> {
  yield ['condition_id', 'window_end', 'shares', 'cost', 'fee', 'won', 'profit']
  for (const { conditionId, endMs, shares, cost, fee, isWon, profit } of trades) {
    yield [conditionId, new Date(endMs).toISOString(), shares, cost, fee, isWon ? 1 : 0, profit]
  }
}

const languages = [
  ['Python', 'Python'],
  ['curl', 'curl'],
] as const

/** The request for the fill of a rule's order in one market. */
const fillOf = (coin: string, rule: Rule, { conditionId, ts }: Observation): Call => {
  const limit = limitOf(rule)
  return {
    path: `/v1/${coin}/markets/${conditionId}/fill`,
    query: {
      ts,
      outcome: rule.outcome,
      side: 'buy',
      view: 'own',
      size: toDecimal(rule.size),
      feeRate: toDecimal(rule.feeRate),
      limitPrice: limit === undefined ? undefined : toDecimal(limit),
    },
  }
}

function SameInCode({ view, call, guestToken, calls }: Props & { calls: readonly Call[] }) {
  const [language, setLanguage] = useState<'Python' | 'curl'>('Python')
  const { outcome, widthCents, rule } = view
  const { origin } = location
  const code =
    language === 'Python'
      ? toPython({ call, outcome, widthCents, rule, origin, token: guestToken })
      : toCode(calls, 'curl', guestToken)
  return (
    <Card title={`The same in ${language}`}>
      <div class="row spread">
        <Choice label="Language" options={languages} value={language} onChoose={setLanguage} />
        <CopyButton key={language} text={code} size="tiny" />
      </div>
      <p class="note">
        {language === 'Python'
          ? 'Counts, intervals and the rule, with the client for Python of this server’s source: pip install ./clients/python.'
          : 'The first page of the panel, and the fill of one entry.'}{' '}
        {guestToken === undefined ? (
          <>
            The code reads your key from the environment: <code>export KEY=bf_live_…</code>
          </>
        ) : (
          'It needs no key, like this page.'
        )}
      </p>
      <div class="calls">
        <pre tabIndex={0}>
          <code>{code}</code>
        </pre>
      </div>
    </Card>
  )
}
