/**
 * Runs a venue by hand: prints its addresses as JSON, plays for a while, and ends.
 *
 *     bun test/support/venue/main.ts --seconds 60 --coins btc,eth --timeframes 5m,15m --rate 50
 *     bun test/support/venue/main.ts --markets recorded --file <snapshots.jsonl.gz> --pace clients
 */
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import { generatedPlaybook } from './generated.ts'
import type { Playbook } from './playbook.ts'
import { recordedPlaybook } from './recorded.ts'
import type { Pace } from './stage.ts'
import { createVenueClock, startVenue, systemClock } from './venue.ts'

const { values } = parseArgs({
  options: {
    /** The port of the sockets; 0 chooses a free one. */
    port: { type: 'string', default: '0' },
    /** `generated` or `recorded`. */
    markets: { type: 'string', default: 'generated' },
    /** Recorded books; the file of tokens is beside it. */
    file: { type: 'string', default: '' },
    /** Recorded markets, the first ones. */
    count: { type: 'string', default: '3' },
    seed: { type: 'string', default: 'venue' },
    coins: { type: 'string', default: 'btc,eth,sol,xrp' },
    timeframes: { type: 'string', default: '5m,15m,1h,4h,1d' },
    /** Steps a second of each open market. */
    rate: { type: 'string', default: '20' },
    ticks: { type: 'string', default: '0.01' },
    /** The protocol's version, as the catalogue says it; v2 has ids of 31 bytes. `mixed` for both. */
    version: { type: 'string' },
    /** `padded` for ids of 31 bytes with a zero byte in messages. */
    'socket-ids': { type: 'string' },
    /** The catalogue leaves the list of the outcomes' ids out. */
    'without-ids': { type: 'boolean', default: false },
    /** `clock`, or `clients` for as fast as they read once `tokens` are subscribed to. */
    pace: { type: 'string', default: 'clock' },
    tokens: { type: 'string', default: '2' },
    speed: { type: 'string', default: '1' },
    /** A JSON list of `{ atMs | afterFrames, connection?, fault }`. */
    script: { type: 'string', default: '[]' },
    seconds: { type: 'string', default: '60' },
  },
})

const startMs = systemClock()

const ofVersion = (version: string | undefined) =>
  ({ version, conditionIdBytes: version === 'v2' ? 31 : 32 }) as const

const playbook: Playbook =
  values.markets === 'recorded'
    ? await recordedPlaybook({
        files: [values.file],
        marketsFile: join(dirname(values.file), 'markets-btc-5m-tokens.json'),
        marketsMax: Number(values.count),
        shiftToMs: startMs,
      })
    : generatedPlaybook({
        startMs,
        seed: values.seed,
        coins: values.coins.split(','),
        timeframes: values.timeframes.split(','),
        ticks: values.ticks.split(','),
        stepsPerSecond: Number(values.rate),
        ...(values.version === 'mixed' ? { versions: ['v1', 'v2'] } : ofVersion(values.version)),
        socketIds: values['socket-ids'] === 'padded' ? 'padded' : undefined,
        hidesIds: values['without-ids'],
      })
const pace: Pace =
  values.pace === 'clients'
    ? { by: 'clients', afterTokens: Number(values.tokens) }
    : { by: 'clock', clock: createVenueClock(startMs, Number(values.speed)) }

await using venue = await startVenue({
  playbook,
  pace,
  script: JSON.parse(values.script),
  doesKeep: false,
  port: Number(values.port),
})
const { marketUrl, gammaUrl, clobUrl, cryptoPriceUrl, liveUrl, rtdsUrl } = venue
const urls = { marketUrl, gammaUrl, clobUrl, cryptoPriceUrl, liveUrl, rtdsUrl }
process.stdout.write(`${JSON.stringify(urls)}\n`)
await Bun.sleep(Number(values.seconds) * 1000)
