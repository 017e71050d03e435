/** What a caller without a valid key reads: the ways in that this server has. */
import { describe, expect, test } from 'bun:test'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'

import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { createTestGround } from '../support/test-mode.ts'

const detailOf = async (ask: ReturnType<typeof createHarness>['sendAs']) =>
  (await readProblem(await ask('bf_live_wrong', '/v1/btc/markets'))).detail
const off = { BOOKFEED_SAMPLE_MARKET: 'off', BOOKFEED_TEST_MODE: 'off' }

describe('401', () => {
  test('default: names the sample, the test key, and signup where it is open', async () => {
    const open = createTestGround({ signup: () => ({ isOpen: true }) })
    const detail = await detailOf(open.sendAs)
    expect(detail).toContain('`Authorization: Bearer sample`')
    expect(detail).toContain(PUBLIC_TEST_KEY)
    expect(detail).toContain('POST /v1/keys/challenge')
  })

  test('behavior: names none that the server does not have', async () => {
    const closed = createHarness({
      config: readConfig(off),
      signup: () => ({ isOpen: false, reason: 'It is closed.' }),
    })
    const detail = await detailOf(closed.sendAs)
    expect(detail).toBe(
      'This needs a valid API key: send `Authorization: Bearer bf_live_…`. The operator of this server issues keys.',
    )
  })
})
