import { describe, expect, test } from 'bun:test'

import { digestOf } from '#src/domain/selling/api-key.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { keyCommand, makeLocalKey } from '#src/server/greeting.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'

describe('makeLocalKey', () => {
  test('default: a new ledger gets one key of the highest tier there is, by the operator', async () => {
    using line = createCommandLine()
    await line.run('tiers', 'set', 'pro', '--rank', '9')
    await line.withLedger(async (ledger) => {
      expect(keyCommand(line.context, ledger)).toEndWith('bookfeed keys create --tier pro')
      const key = (await makeLocalKey(line.context, ledger)) ?? ''
      const apiKey = ledger.findKeyByDigest(digestOf(key))
      expect(apiKey).toMatchObject({ label: 'local' })
      const subscriptions = ledger.listSubscriptions(apiKey?.accountId ?? '')
      const { terms, untilMs } = standingAt(subscriptions, ledger.listTiers(), NOW_MS)
      expect([terms.tierId, untilMs]).toEqual(['pro', Number.POSITIVE_INFINITY])
      expect(ledger.listAudit(0, 100).at(-1)?.actor).toBe('operator')
    })
  })

  test('behavior: another one is made in the same ledger, whose password is not printed', async () => {
    using line = createCommandLine()
    await line.withLedger((ledger) => {
      const commandOf = (more: object) =>
        keyCommand({ ...line.context, env: { ...line.context.env, ...more } }, ledger)
      const command = 'bookfeed keys create --tier enterprise'
      expect(commandOf({ BOOKFEED_DATA: "it's" })).toBe(`BOOKFEED_DATA='it'\\''s' ${command}`)
      expect(commandOf({ BOOKFEED_LEDGER: 'postgres://us:secret@db/books' })).toBe(
        `BOOKFEED_LEDGER='postgres://…' ${command}`,
      )
    })
  })

  test('behavior: makes no second one, also not after the first was revoked', async () => {
    using line = createCommandLine()
    await line.withLedger(async (ledger) => {
      await makeLocalKey(line.context, ledger)
      const [first] = ledger.listKeys()
      await ledger.revokeKey(first?.id ?? '', { actor: 'operator', nowMs: NOW_MS })
      expect(await makeLocalKey(line.context, ledger)).toBeUndefined()
      expect(ledger.listKeys()).toHaveLength(1)
    })
  })

  test('behavior: makes none where others reach the server', async () => {
    using line = createCommandLine({ BOOKFEED_HOST: '0.0.0.0' })
    await line.withLedger(async (ledger) => {
      expect(await makeLocalKey(line.context, ledger)).toBeUndefined()
      expect(ledger.isNew()).toBe(true)
    })
  })
})
