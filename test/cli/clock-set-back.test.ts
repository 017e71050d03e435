import { describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { openLedger } from '#src/ledger/open.ts'

import { createCommandLine } from '../support/command-line.ts'
import { addKey, NOW_MS } from '../support/harness.ts'

const MINUTE_MS = 60_000

/**
 * A data folder with a key without an end and one that expires in a minute, as a key does that was
 * rotated.
 */
async function createRig() {
  const cli = createCommandLine({
    BOOKFEED_PORT: '0',
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
  })
  const time = { nowMs: NOW_MS }
  cli.context.clock = () => time.nowMs
  using ledger = openLedger(cli.ledgerPath, { nowMs: NOW_MS })
  const [lasting, ending] = [addKey(ledger, 'pro'), addKey(ledger, 'pro')]
  const id = ledger.listKeys().at(-1)?.id ?? ''
  await ledger.expireKey(id, NOW_MS + MINUTE_MS, { actor: 'operator', nowMs: NOW_MS })

  /** Serves from one moment on; `statusesAt` says how both keys fare after the clock was set. */
  async function serving(
    body: (statusesAt: (nowMs: number) => Promise<number[]>) => Promise<void>,
  ) {
    const served = cli.run('serve')
    const originOf = () => cli.printed.join('\n').match(/listens on (\S+)/)?.[1]
    let hasEnded = false
    void served.finally(() => (hasEnded = true))
    while (originOf() === undefined) {
      if (hasEnded) throw new Error(cli.errors.join('\n'))
      await Bun.sleep(5)
    }
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
    const { cli, serving } = await createRig()
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
    const { cli, time, serving } = await createRig()
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

  test('behavior: the time that a ledger of an earlier version kept is taken over once', async () => {
    const { cli, time, serving } = await createRig()
    using _ = cli
    const kept = () => {
      const db = openDatabase(cli.ledgerPath, { format: ledgerFormat })
      try {
        return db
          .prepare<{ key: string }, []>("SELECT key FROM meta WHERE key = 'time_floor'")
          .get()
      } finally {
        db.close()
      }
    }
    const db = openDatabase(cli.ledgerPath, { format: ledgerFormat })
    db.run(`INSERT INTO meta (key, value) VALUES ('time_floor', ${NOW_MS + 2 * MINUTE_MS})`)
    db.close()
    time.nowMs = NOW_MS
    await serving(async (statusesAt) => expect(await statusesAt(NOW_MS)).toEqual(EXPIRED))
    expect(kept()).toBeNull()
    await serving(async (statusesAt) => expect(await statusesAt(NOW_MS)).toEqual(EXPIRED))
    rmSync(join(cli.folder, 'clock.txt'))
    await serving(async (statusesAt) => expect(await statusesAt(NOW_MS)).toEqual(VALID))
  })
})
