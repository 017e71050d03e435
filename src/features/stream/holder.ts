/** Whose a connection is, and for how long. */
import { AppError } from '#src/domain/errors.ts'
import { type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Refused } from '#src/platform/concurrency-limit.ts'

import type { CloseReason } from './schema.ts'

const AUTH_MS = 10_000
/** Keys and tiers are looked at again so often, and before each operation on rows. */
const RECHECK_MS = 5_000

export type HolderPorts = {
  clock: Clock
  /** Undefined for a key that is not valid. */
  authenticate(key: string, address: string): Caller | undefined
  /**
   * Resolves when this server has what was committed before, so a key that it does not know may be
   * valid; undefined where it has that already. Rejects with `unavailable`.
   */
  catchUp(key: string): Promise<void> | undefined
  /** Takes a place among the connections of an account, or says which bound is reached. */
  takePlace(caller: Caller): Refused | (() => void)
}

type Line = {
  say(value: object): void
  end(why: CloseReason): void
  /** The present holder. */
  onCaller(caller: Caller): void
}

export function createHolder(ports: HolderPorts, address: string, { say, end, onCaller }: Line) {
  const openedMs = ports.clock()
  let caller: Caller | undefined
  let checkedMs = openedMs
  let ownKey = ''
  let leave: (() => void) | undefined

  /** Ends the connection if the key is not valid any more. */
  function look(): void {
    if (caller === undefined) return
    checkedMs = ports.clock()
    const now = ports.authenticate(ownKey, address)
    if (now !== undefined && !now.isBlocked) {
      caller = now
      onCaller(now)
      return
    }
    caller = undefined
    end('unauthenticated')
  }

  return {
    /** The caller as of now. Throws `unauthenticated`, also where the key has ended since. */
    required(): Caller {
      look()
      if (caller === undefined) throw unauthenticatedError()
      return caller
    },

    look,

    /** May be repeated, with another key of the same account. */
    authenticate(key: string): void {
      const found = ports.authenticate(key, address)
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
    },

    /** Ends a connection whose key did not come, or is not valid any more. */
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
