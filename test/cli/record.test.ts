import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { runCli } from '#src/cli/program.ts'
import { openHistory } from '#src/history/open.ts'
import type { CliContext } from '#src/server/context.ts'

import { createCommandLine } from '../support/command-line.ts'
import { until } from '../support/until.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock, type Venue } from '../support/venue/venue.ts'

let venue: Venue | undefined
afterEach(() => venue?.stop())

/** A venue on loopback, and a data folder that is set to record it. */
async function createRecording() {
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
})
