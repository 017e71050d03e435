/** Refusals of requests that the server, or their account, has no room for. */
import { AppError } from '#src/domain/errors.ts'
import { levelOf } from '#src/domain/selling/caller.ts'
import { streamsMaxOf } from '#src/domain/selling/tier.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import { count } from '#src/platform/count.ts'

import { callOf } from './call.ts'
import { callerOf } from './rights.ts'

const RETRY_SECONDS = 5

/**
 * Takes a place among exports and live events, or among those of another limit, which counts the
 * `noun`. Returns the function that gives it back. Throws `too_many_streams` and `unavailable`.
 */
export function openStream(
  request: Request,
  streams: ConcurrencyLimit,
  noun: 'stream' | 'live connection' = 'stream',
): () => void {
  const caller = callerOf(request)
  const { accountId, standing, address } = caller
  const { guest } = callOf(request)
  const ownMax = streamsMaxOf(standing.terms)
  const close = streams.open({
    owner: accountId,
    ownMax,
    level: levelOf(caller),
    group: address,
  })
  if (typeof close !== 'string') return close
  if (close === 'all') throw busyError()
  const whose = guest === undefined ? 'account' : 'network address'
  const running =
    close === 'account'
      ? `${count(ownMax, noun)} of this ${whose} ${ownMax === 1 ? 'is' : 'are'} running, which is what the ${standing.terms.name} tier includes.`
      : `The keys of this network address have as many ${noun}s as they may have in total.`
  throw new AppError('too_many_streams', `${running} Wait for one to end.`, {
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/** The server has no room for a request. */
export const busyError = (retryAfterSeconds = RETRY_SECONDS): AppError =>
  new AppError('unavailable', 'The server is at its capacity. Try again in a moment.', {
    retryAfterSeconds,
  })
