import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { runCli } from '#src/cli/program.ts'
import { openHistory } from '#src/history/open.ts'
import type { CliContext } from '#src/server/extension.ts'

import { createCommandLine } from '../support/command-line.ts'
import { parseExposition } from '../support/exposition.ts'
import { findFreePort } from '../support/free-port.ts'
import { createSmallDisk, hasSmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock, type Venue } from '../support/venue/venue.ts'

let venue: Venue | undefined
afterEach(() => venue?.stop())

/** A venue on loopback, and a data folder that is set to record it. */
async function createRecording(env: Record<string, string> = {}) {
  const playbook = generatedPlaybook({ startMs: systemClock(), seed: 'record' })
  venue = await startVenue({ playbook, pace: { by: 'clock', clock: systemClock } })
  const line = createCommandLine({
    BOOKFEED_RECORD_COINS: 'btc',
    BOOKFEED_RECORD_TIMEFRAMES: '5m',
    BOOKFEED_FEED_URL: venue.marketUrl,
    BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
    BOOKFEED_SPOT: `live=${venue.liveUrl}`,
    BOOKFEED_SPOT_KEY: 'a:b:c',
    BOOKFEED_FREE_MB: '0',
    ...env,
  })
  const context: CliContext = { ...line.context, clock: systemClock }
  return { ...line, context }
}

describe('bookfeed record', () => {
  test('default: stores books and prices until it is asked to stop', async () => {
    using recording = await createRecording()
    const { context, folder, printed, errors, stop } = recording
    const ending = runCli(['record'], context)
    const history = openHistory(join(folder, 'history.db'))
    await until(() => history.totals().snapshots > 50)
    await until(() => history.spot({ coin: 'btc', order: 'asc', limit: 1 }).length > 0)
    stop()
    expect(await ending).toBe(0)
    expect(printed).toEqual(['Recording btc of 5m.'])
    expect(errors).toEqual([])
    expect([...history.verify()]).toEqual([])
    history.dispose()
    const { errors: said } = await recording.run('status')
    expect(said[0]).toContain('No recorder runs')
  })

  test('default: answers Prometheus and probes at an address of its own', async () => {
    const port = findFreePort()
    using recording = await createRecording({ BOOKFEED_RECORD_METRICS: String(port) })
    const { context, printed, stop } = recording
    const ending = runCli(['record'], context)
    const origin = `http://127.0.0.1:${port}`
    await until(() => printed.length > 1)
    expect(printed[1]).toBe(`Metrics: ${origin}/metrics`)
    const ask = async (path: string) => {
      const response = await fetch(origin + path)
      return { status: response.status, text: await response.text() }
    }
    const read = async () => parseExposition((await ask('/metrics')).text)
    // It writes its state every two seconds.
    let { samples } = await read()
    while ((samples.get('bookfeed_recorder_rows_total') ?? 0) === 0) {
      await Bun.sleep(50)
      samples = (await read()).samples
    }
    expect(samples.get('bookfeed_recorder_up')).toBe(1)
    expect(samples.get('bookfeed_recorder_faulty')).toBe(0)
    for (const name of ['process_cpu_seconds_total', 'bookfeed_disk_free_bytes'])
      expect(samples.get(name)).toBeGreaterThan(0)
    expect(JSON.parse((await ask('/healthz')).text)).toEqual({
      status: 'ok',
      version: context.version,
    })
    expect(await ask('/readyz')).toMatchObject({
      status: 200,
      text: expect.stringContaining('{"ready":true'),
    })
    expect(await ask('/v1/coins')).toEqual({
      status: 404,
      text: 'See /metrics, /healthz and /readyz\n',
    })
    stop()
    expect(await ending).toBe(0)
    expect(await ask('/healthz').catch(() => 'gone')).toBe('gone')
  }, 300_000)

  test.skipIf(!hasSmallDisk)(
    'error: where it cannot store, /readyz is 503 with the reason, and it lives',
    async () => {
      const port = findFreePort()
      using disk = createSmallDisk()
      const variables = { BOOKFEED_RECORD_METRICS: String(port) }
      using recording = await createRecording(Object.assign(variables, disk.env))
      const ending = runCli(['record'], recording.context)
      await until(() => recording.printed.length > 1)
      const response = await fetch(`http://127.0.0.1:${port}/readyz`)
      expect([response.status, await response.json()]).toEqual([
        503,
        { ready: false, reason: 'The disk is nearly full: nothing is recorded.' },
      ])
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
      recording.stop()
      expect(await ending).toBe(0)
    },
    300_000,
  )

  test('error: an address that another process has is refused, and nothing is recorded', async () => {
    const port = findFreePort()
    await using _other = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() })
    using recording = await createRecording({ BOOKFEED_RECORD_METRICS: String(port) })
    expect(await runCli(['record'], recording.context)).toBe(1)
    expect(recording.errors.at(-1)).toContain(
      `BOOKFEED_RECORD_METRICS: cannot listen on 127.0.0.1:${port} (EADDRINUSE)`,
    )
  })
})
