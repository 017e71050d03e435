/** A key is read as people paste it, and no more of it is shown than its last four characters. */
import { afterAll, describe, expect, test } from 'bun:test'
import { inspect } from 'node:util'

import { Bookfeed, BookfeedError } from '../../clients/typescript/src/bookfeed.ts'
import { createHarness } from '../support/harness.ts'
import { closeAll, startLiveServer } from '../support/live-client.ts'

const harness = createHarness()
const { key } = harness
afterAll(closeAll)
const secret = key.slice('bf_live_'.length, -4)
const clientOf = (given: string, server = 'http://localhost') =>
  new Bookfeed({
    server,
    key: given,
    attempts: 1,
    fetch: (url, init) => harness.sendAs(undefined, url.replace(server, ''), init),
  })

function expectHidden(...shown: unknown[]): void {
  for (const each of shown) {
    const texts = [
      String(each),
      inspect(each, { depth: 9, showHidden: true }),
      Bun.inspect(each, { depth: 9 }),
      JSON.stringify(each) ?? '',
      each instanceof Error ? String(each.stack) : '',
    ]
    for (const text of texts) {
      expect(text).not.toContain(secret.slice(0, 12))
      expect(text).not.toContain(secret.slice(-12))
    }
  }
}

async function failureOf(act: () => unknown): Promise<BookfeedError> {
  const error = await Promise.try(act).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (error instanceof BookfeedError) return error
  throw new Error('No failure of the client.', { cause: error })
}

describe('a key', () => {
  test.each([`${key}\n`, ` ${key}\r\n`, `\t${key}`])(
    'default: space around it is none of it',
    async (given) => {
      const { tier } = await clientOf(given).get('/v1/usage', {})
      expect(tier.id).toBe('test')
    },
  )

  test('default: a stream of a key with a line break is that of the key', async () => {
    const { port, key: own } = startLiveServer()
    const bookfeed = new Bookfeed({ server: `http://127.0.0.1:${port}`, key: `${own}\n` })
    const [message] = await Array.fromAsync(
      bookfeed.replay({ channel: 'quotes', coin: 'btc', from: 1, to: 2 }),
    )
    expect(message).toBeUndefined()
  })

  test.each([
    ['line breaks inside', `${key}\n${key}`],
    ['a space inside', `${key.slice(0, 20)} ${key.slice(20)}`],
    ['another letter', `${key.slice(0, -1)}é`],
    ['quotes', `“${key}”`],
  ])('error: with %s it is refused without being shown', async (_, given) => {
    const error = await failureOf(() => clientOf(given))
    expect([error.code, error.param]).toEqual(['invalid_parameter', 'key'])
    expectHidden(error)
  })

  test('error: in place of the address it is not shown', async () => {
    const error = await failureOf(() => new Bookfeed({ server: key, key: 'http://localhost' }))
    expect([error.code, error.param]).toEqual(['invalid_parameter', 'server'])
    expect(error.message).toContain(`bf_live_…${key.slice(-4)}`)
    expectHidden(error)
  })

  test('behavior: a client, its parts and its failures do not show it', async () => {
    const bookfeed = clientOf(key)
    const market = { coin: 'btc', conditionId: key }
    const silent = new Bookfeed({
      server: 'http://localhost',
      key,
      attempts: 1,
      fetch: () => Promise.reject(new TypeError('refused')),
    })
    expectHidden(
      bookfeed,
      bookfeed.requester,
      bookfeed.snapshots({ coin: 'btc', conditionId: 'no-such-market' }),
      bookfeed.live({ channel: 'quotes', coin: 'btc' }),
      await failureOf(() => bookfeed.market(market)),
      await failureOf(() => silent.market(market)),
      await failureOf(() => clientOf(`${key.slice(0, -1)}X`).get('/v1/usage', {})),
    )
  })
})
