import { assert } from '#src/platform/assert.ts'

import { benchAuthorization } from './bench-key.ts'
import { DAY, type DayDataset, type OurData } from './dataset.ts'
import { median } from './measure.ts'
import { openOurApp, type OurApp } from './our-app.ts'
import { drawMoments, type Moment } from './request-paths.ts'
import { startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

/** Figures of the whole application in this process: no socket, no client. */
type Fact = readonly [string, string]

const MOMENTS = 5_000
const MOMENTS_WARM_UP = 1_000
const PANEL_ROUNDS = 9

/**
 * Distinct places in what is recorded of each simulated market, which ends before its window does.
 */
const panelPath = `/v1/btc/panel?timeframe=5m&offsets=-290s,-250s,-215s,-180s&from=${DAY.startMs}&to=${DAY.startMs + DAY.lengthMs}&limit=288`

/** One state of a million: through the app with key and headers, and the store alone. */
export async function measureAt(dataset: OurData): Promise<Fact[]> {
  const moments = drawMoments(dataset, { count: MOMENTS, seed: 11 })
  const ours = openOurApp(dataset.dataPath)
  try {
    const whole = await timeEach(moments, (moment) => askAt(ours, moment))
    const alone = await timeEach(moments.toReversed(), (moment) => readAt(ours, moment))
    return [
      ['`at` in the process, whole request', describe(whole)],
      ['`at` in the process, store alone', describe(alone)],
    ]
  } finally {
    ours.dispose()
  }
}

/** A day of 288 markets at four moments. */
export async function measurePanel({ dataPath }: DayDataset): Promise<Fact[]> {
  const opened: number[] = []
  const again: number[] = []
  const started: number[] = []
  for (let round = 0; round < PANEL_ROUNDS; round++) {
    const ours = openOurApp(dataPath)
    opened.push(await timed(() => askPanel(ours)))
    again.push(await timed(() => askPanel(ours)))
    await assertWhole(ours)
    ours.dispose()
    const server = await startServer({ command: bookfeed({ dataPath }), readyPath: '/healthz' })
    started.push(
      await timed(async () => {
        const headers = { authorization: benchAuthorization }
        const response = await fetch(server.origin + panelPath, { headers })
        await response.arrayBuffer()
      }),
    )
    await server.stop()
  }
  const rounds = `median of ${PANEL_ROUNDS}`
  return [
    ['panel of a day, file just opened', `${toMs(median(opened))} ms (${rounds})`],
    ['panel of a day, again', `${toMs(median(again))} ms (${rounds})`],
    [
      'panel of a day, first request to a fresh process, over HTTP',
      `${toMs(median(started))} ms (${rounds})`,
    ],
  ]
}

async function askAt({ app }: OurApp, { conditionId, outcome, timestampMs }: Moment) {
  const path = `/v1/btc/markets/${conditionId}/snapshots/at?ts=${timestampMs}&outcome=${outcome}`
  const response = await ask(app, path)
  await response.arrayBuffer()
}

function readAt({ history }: OurApp, { conditionId, outcome, timestampMs }: Moment): void {
  const market = history.findMarket(conditionId)
  assert(market !== undefined, 'a market of the plain file is in ours')
  const row = history.at({ market, outcome, timestampMs })
  assert((row?.text().length ?? 0) > 0, 'there is a state at a moment of its market')
}

async function askPanel({ app }: OurApp): Promise<void> {
  const response = await ask(app, panelPath)
  await response.arrayBuffer()
}

async function assertWhole({ app }: OurApp): Promise<void> {
  const response = await ask(app, panelPath)
  const { data } = JSON.parse(
    Buffer.from(Bun.gunzipSync(new Uint8Array(await response.arrayBuffer()))).toString(),
  ) as {
    data: { up: unknown; down: unknown }[]
  }
  assert(data.length === DAY.markets * 4, 'the panel has one row per market and moment')
  assert(
    data.every(({ up, down }) => up !== null && down !== null),
    'each row has both states',
  )
}

async function ask(app: OurApp['app'], path: string): Promise<Response> {
  const headers = { authorization: benchAuthorization, 'accept-encoding': 'gzip' }
  const response = await app.fetch(new Request(`http://127.0.0.1${path}`, { headers }))
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

/** Milliseconds of each, without the first ones. */
async function timeEach(
  moments: readonly Moment[],
  body: (moment: Moment) => Promise<void> | void,
) {
  const times: number[] = []
  for (const moment of moments) times.push(await timed(() => body(moment)))
  return times.slice(MOMENTS_WARM_UP).sort((a, b) => a - b)
}

async function timed(body: () => Promise<void> | void): Promise<number> {
  const startedAt = performance.now()
  await body()
  return performance.now() - startedAt
}

function describe(sorted: readonly number[]): string {
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
  return `${toMs(median(sorted))} ms (median of ${sorted.length} random moments), p99 ${toMs(p99)} ms`
}

const toMs = (value: number) => value.toPrecision(3)
