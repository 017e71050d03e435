import type { ComponentChildren } from 'preact'

import { request, send, toProblem, useAsked } from '../../lib/api.ts'
import type { Coin, Listed, Market, Sample } from '../../lib/bodies.ts'
import { serverNowMs } from '../../lib/clock.ts'
import { apiKey, SAMPLE } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Code } from './code.tsx'

type Step = { title: string; text: string; url: string; answer: string; isSound: boolean }
type Options = { signal: AbortSignal }
type Named = Pick<Market, 'slug' | 'conditionId'>

/** Characters of an answer below its command. */
const SHOWN_MAX = 420

/**
 * Three commands of one line, and the beginning of what each answers: of a market with books, with
 * the visitor's key in them, or else the sample. `children` follow them.
 */
export function Commands({ children }: { children: ComponentChildren }) {
  const key = useStore(apiKey.store)
  const ask = (_: string, options: Options) => loadSteps(key, options)
  const { data: steps, problem } = useAsked({ url: location.origin, ask, whose: key })
  if (problem)
    return (
      <>
        <p role="alert">{problem.detail}</p>
        {children}
      </>
    )
  // Shown all at once, so that nothing moves.
  if (steps === undefined) return null
  return (
    <>
      {steps.map(({ title, text, url, answer }) => (
        <section key={title}>
          <h2>{title}</h2>
          <p>{text}</p>
          <Code
            text={`curl -H "Authorization: Bearer ${key ?? SAMPLE}" "${location.origin}${url}"`}
          />
          <pre class="answer" tabIndex={0}>
            {beginningOf(answer)}
          </pre>
        </section>
      ))}
      {steps.length < 2 && steps[0]?.isSound && <p>The server has no books yet.</p>}
      {children}
    </>
  )
}

async function loadSteps(key: string | undefined, options: Options): Promise<Step[]> {
  const { market, coins } = await request<Sample>('/v1/sample', options)
  const coin = key === undefined ? market?.symbol : await findCoin(options)
  const list = `/v1/${coin ?? 'btc'}/markets`
  const pathOf = ({ slug, conditionId }: Named) => `${list}/${slug ?? conditionId}`
  // For some coins the sample has one market and no list.
  const isListed = key !== undefined || market === null || coins.includes(market.symbol)
  const markets = isListed
    ? await read(
        'List markets',
        'The newest market with books whose window has begun: its winner if it is known, and how much is recorded.',
        `${list}?withBooks=true&to=${beginningOfMinute()}&limit=1`,
        options,
      )
    : await read(
        'Look at a market',
        'The market of the sample: its window, its winner, and how much is recorded.',
        pathOf(market),
        options,
      )
  const named = key === undefined ? market : newestOf(markets)
  if (named == null) return [markets]
  const path = pathOf(named)
  const { lastSnapshot } = await request<Market>(path, options)
  return [
    markets,
    await read(
      'Read a market’s history',
      'Every state of both books. Send nextCursor as cursor to get the next page.',
      `${path}/snapshots?depth=2&limit=2`,
      options,
    ),
    await read(
      'Get the book as of a moment',
      'The state at that moment or before it, never a later one.',
      `${path}/snapshots/at?depth=2&ts=${lastSnapshot}`,
      options,
    ),
  ]
}

/** Windows that begin later may have books, too, but hardly any. */
const beginningOfMinute = (): string => `${new Date(serverNowMs()).toISOString().slice(0, 16)}:00Z`

async function findCoin(options: Options): Promise<string | undefined> {
  const { data } = await request<Listed<Coin>>('/v1/coins', options)
  return data.find(({ snapshots }) => snapshots > 0)?.symbol
}

const newestOf = ({ answer, isSound }: Step): Market | undefined =>
  isSound ? (JSON.parse(answer) as Listed<Market>).data[0] : undefined

async function read(title: string, text: string, url: string, options: Options): Promise<Step> {
  try {
    const answer = await (await send(url, options)).text()
    return { title, text, url, answer, isSound: true }
  } catch (error) {
    if (options.signal.aborted) throw error
    return { title, text, url, answer: toProblem(error).detail, isSound: false }
  }
}

const beginningOf = (answer: string): string =>
  answer.length <= SHOWN_MAX ? answer : `${answer.slice(0, SHOWN_MAX)}…`
