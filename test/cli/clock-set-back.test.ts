import { describe, expect, test } from 'bun:test'

import { DAY_MS } from '#src/domain/time.ts'

import { createCommandLine } from '../support/command-line.ts'
import { addKey, NOW_MS } from '../support/harness.ts'

const MINUTE_MS = 60_000

/**
 * A data folder with a key for ever and one that ends in a minute, as
 * the one does that was rotated.
 */
function createRig() {
  const cli = createCommandLine({
    BOOKFEED_PORT: '0',
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
  })
  const time = { nowMs: NOW_MS }
  cli.context.clock = () => time.nowMs
  const [lasting, ending] = cli.withLedger((ledger) => {
    const keys = [addKey(ledger, 'pro'), addKey(ledger, 'pro')] as const
    const id = ledger.listKeys().at(-1)?.id ?? ''
    ledger.expireKey(id, NOW_MS + MINUTE_MS, { actor: 'operator', nowMs: NOW_MS })
    return keys
  })

  /** Serves from one moment on; `statusesAt` says how both keys fare after the clock was set. */
  async function serving(
    body: (statusesAt: (nowMs: number) => Promise<number[]>) => Promise<void>,
  ) {
    const served = cli.run('serve')
    const originOf = () => cli.printed.join('\n').match(/listens on (\S+)/)?.[1]
    while (originOf() === undefined) await Bun.sleep(5)
    await body(async (nowMs) => {
      time.nowMs = nowMs
      const statuses = [lasting, ending].map(async (key) => {
        const headers = { authorization: `Bearer ${key}` }
        return (await fetch(`${originOf()}/v1/btc/markets`, { headers })).status
      })
      return Promise.all(statuses)
    })
    cli.stop()
    expect((await served).exitCode).toBe(0)
  }
  return { cli, time, serving }
}

const VALID = [200, 200]
const EXPIRED = [200, 401]

describe('a clock that is set back', () => {
  test('default: revives no key that has expired, neither while it runs nor after a restart', async () => {
    const { cli, serving } = createRig()
    using _ = cli
    await serving(async (statusesAt) => {
      expect(await statusesAt(NOW_MS + MINUTE_MS / 2)).toEqual(VALID)
      expect(await statusesAt(NOW_MS + MINUTE_MS)).toEqual(EXPIRED)
      expect(await statusesAt(NOW_MS - 60 * MINUTE_MS)).toEqual(EXPIRED)
    })
    await serving(async (statusesAt) => {
      expect(await statusesAt(NOW_MS - 60 * MINUTE_MS)).toEqual(EXPIRED)
    })
  })

  test('behavior: one that was far ahead locks nobody out once it is right again', async () => {
    const { cli, time, serving } = createRig()
    using _ = cli
    time.nowMs = NOW_MS + 3_650 * DAY_MS
    await serving(async (statusesAt) => {
      expect(await statusesAt(time.nowMs)).toEqual(EXPIRED)
      expect(await statusesAt(NOW_MS)).toEqual(VALID)
    })
    time.nowMs = NOW_MS + 3_650 * DAY_MS
    await serving(async (statusesAt) => expect(await statusesAt(time.nowMs)).toEqual(EXPIRED))
    await serving(async (statusesAt) => expect(await statusesAt(NOW_MS)).toEqual(VALID))
  })
})
