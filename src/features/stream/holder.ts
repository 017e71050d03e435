/** The account of a connection, and how long its key remains valid. */
import { AppError } from '#src/domain/errors.ts'
import { type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Refused } from '#src/platform/concurrency-limit.ts'
import { after, type MaybePromise } from '#src/platform/maybe-promise.ts'

import type { CloseReason } from './schema.ts'

const AUTH_MS = 10_000
/** Interval at which key and tier are checked; each operation on rows checks them too. */
const RECHECK_MS = 5_000

export type HolderPorts = {
  clock: Clock
  /** Undefined if the key is not valid. Throws `unavailable` while keys cannot be checked. */
  authenticate(key: string, address: string): Caller | undefined
  /** See `Authenticator`. */
  find(key: string, address: string): MaybePromise<Caller | undefined>
  /** Reserves a slot of the account's connections, or returns the limit that is reached. */
  takePlace(caller: Caller): Refused | (() => void)
}

type Line = {
  say(value: object): void
  end(why: CloseReason): void
  /** Called with the authenticated caller. */
  onCaller(caller: Caller): void
}

export function createHolder(ports: HolderPorts, address: string, { say, end, onCaller }: Line) {
  const openedMs = ports.clock()
  let caller: Caller | undefined
  let checkedMs = openedMs
  let ownKey = ''
  let leave: (() => void) | undefined

  /** Ends the connection if the key is no longer valid or cannot be checked. */
  function look(): void {
    if (caller === undefined) return
    checkedMs = ports.clock()
    try {
      const now = ports.authenticate(ownKey, address)
      if (now !== undefined && !now.isBlocked) {
        caller = now
        onCaller(now)
        return
      }
      caller = undefined
      end('unauthenticated')
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error
      caller = undefined
      end('unconfirmed')
    }
  }

  /** Starts serving the account of a key. */
  function accept(key: string, found: Caller | undefined): void {
    if (found === undefined || found.isBlocked) {
      end('unauthenticated')
      return
    }
    if (caller && caller.accountId !== found.accountId)
      throw new AppError('invalid_parameter', 'The key belongs to another account.', {
        param: 'key',
      })
    const place = leave ?? ports.takePlace(found)
    if (typeof place === 'string') {
      end(place === 'all' ? 'full' : 'limit')
      return
    }
    leave = place
    caller = found
    ownKey = key
    onCaller(found)
    say({ type: 'authenticated', tier: found.standing.terms.tierId })
  }

  return {
    /** The current caller. Throws `unauthenticated`, also if the key has ended since. */
    required(): Caller {
      look()
      if (caller === undefined) throw unauthenticatedError()
      return caller
    },

    look,

    /** May be called again with another key of the same account. */
    authenticate(key: string): MaybePromise<void> {
      return after(ports.find(key, address), (found) => accept(key, found))
    },

    /** Ends the connection if no key was sent in time, or the key is no longer valid. */
    check(nowMs: number): void {
      if (caller === undefined && nowMs - openedMs > AUTH_MS) end('unauthenticated')
      if (caller === undefined || nowMs - checkedMs < RECHECK_MS) return
      look()
    },

    leave(): void {
      leave?.()
      leave = undefined
    },
  }
}
