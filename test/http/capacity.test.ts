import { describe, expect, test } from 'bun:test'

import { createLimits } from '#src/access/limits.ts'
import { AppError } from '#src/domain/errors.ts'
import { bindCall } from '#src/http/call.ts'
import { openStream } from '#src/http/capacity.ts'

import { callerOf, callFrom } from '../support/calls.ts'

const createPlaces = ({ streamsMax = 100 } = {}) => createLimits(streamsMax).streams

/** A request of an account. */
function requestOf(accountId: string, { tierId = 'pro' } = {}) {
  const request = new Request('http://localhost/')
  bindCall(request, callFrom({ caller: callerOf(accountId, tierId) }))
  return { request }
}

/** The code and the seconds to wait with which something is refused. */
async function refusalOf(body: () => unknown): Promise<[string, number | undefined]> {
  try {
    await body()
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.extras.retryAfterSeconds]
    throw error
  }
  throw new Error('It was not refused.')
}

describe('openStream', () => {
  test.each([
    ['free', 1],
    ['starter', 2],
    ['pro', 4],
    ['enterprise', 16],
  ])('default: the %s tier has %d at a time', async (tierId, count) => {
    const streams = createPlaces()
    const open = (account = 'a') => openStream(requestOf(account, { tierId }).request, streams)
    const closes = Array.from({ length: count }, () => open())
    expect(await refusalOf(() => open())).toEqual(['too_many_streams', 5])
    open('b')
    closes[0]?.()
    // Closed twice is closed once.
    closes[0]?.()
    open()
    expect(await refusalOf(() => open())).toEqual(['too_many_streams', 5])
  })

  test.each([
    ['free', 1, '1 stream of this account is running, which is what the Free tier includes.'],
    ['pro', 4, '4 streams of this account are running, which is what the Pro tier includes.'],
  ])('error: the %s tier is told how many run, in words', (tierId, most, text) => {
    const streams = createPlaces()
    const open = () => openStream(requestOf('a', { tierId }).request, streams)
    for (let times = 0; times < most; times++) open()
    expect(open).toThrow(`${text} Wait for one to end.`)
  })

  test('error: all accounts together have a bound, too', async () => {
    const streams = createPlaces({ streamsMax: 3 })
    const [close] = ['a', 'b', 'c'].map((account) =>
      openStream(requestOf(account).request, streams),
    )
    const late = () => openStream(requestOf('d').request, streams)
    expect(await refusalOf(late)).toEqual(['unavailable', 5])
    close?.()
    expect(late()).toBeFunction()
  })
})
