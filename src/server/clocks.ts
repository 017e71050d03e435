/** The clocks of a server: its own, which never runs backwards, and those it is compared with. */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { createSteadyClock } from '#src/domain/steady-clock.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { Fault } from '#src/features/health/routes.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { every, type Job } from '#src/platform/job.ts'

import type { CliContext, ClockWatch } from './extension.ts'
import { isShared } from './open-data-folder.ts'
import { patiently } from './stores.ts'

const KEEP_MS = 60_000

export type ServerClock = AsyncDisposable & {
  now: Clock
  /** The reason why the clock of this machine cannot be used; undefined if it can. */
  fault: ClockWatch['fault']
  /** The same as a fault of `/readyz`. */
  faults(): Fault[]
  /** Stores the time each minute: a clock that was set back is noticed at the next start. */
  keepTime(): Job
}

/** Opens the clock of a server, which begins no earlier than the last stored time. */
export async function openClock(
  context: CliContext,
  ledger: Pick<Ledger, 'takeTimeFloor'>,
  timer: Clock,
): Promise<ServerClock> {
  const watch = await watchClocks(context)
  const floor = await patiently(() => openTimeFloor(context, ledger))
  const { now, keep } = createSteadyClock({ clock: context.clock, timer, floor })
  function tryKeep(): void {
    try {
      keep()
    } catch {
      // The disk is full: the next try comes later.
    }
  }
  return {
    now,
    fault: watch.fault,
    faults() {
      const reason = watch.fault()
      return reason === undefined ? [] : [{ check: 'clock', reason }]
    },
    keepTime() {
      tryKeep()
      return every(KEEP_MS, tryKeep, tryKeep)
    },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  }
}

/** Compares the clock of this machine with those that extensions know. */
export async function watchClocks(
  context: CliContext,
): Promise<Pick<ClockWatch, 'fault'> & AsyncDisposable> {
  const watching = context.extensions.map(({ watchClock }) => watchClock?.(context))
  const watches = (await Promise.all(watching)).filter((watch) => watch !== undefined)
  return {
    fault: () => watches.map(({ fault }) => fault()).find((reason) => reason !== undefined),
    async [Symbol.asyncDispose]() {
      await Promise.all(watches.map((watch) => watch.dispose()))
    },
  }
}

/**
 * The file in which a server keeps its time over a restart, because a clock belongs to a machine. A
 * power cut may lose the last write.
 */
export const createTimeFloor = (dataPath: string) => {
  const path = join(dataPath, 'clock.txt')
  return {
    get(): number | undefined {
      try {
        const floorMs = Date.parse(readFileSync(path, 'utf8').trim())
        return Number.isNaN(floorMs) ? undefined : floorMs
      } catch {
        return undefined
      }
    },
    /** Writes in place with a fixed length, which needs no room on a full disk. */
    put(nowMs: number): void {
      const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600)
      try {
        writeSync(file, `${toIso(nowMs)}\n`, 0)
      } finally {
        closeSync(file)
      }
    },
  }
}

/**
 * Opens the time floor of a server. Before 0.9.0 the ledger kept it: the floor moves from a ledger
 * in a file, and is ignored in a database, where it may belong to another machine.
 */
async function openTimeFloor(context: CliContext, ledger: Pick<Ledger, 'takeTimeFloor'>) {
  const floor = createTimeFloor(context.config().dataPath)
  const isOfThisMachine = !isShared(context, 'ledger')
  await ledger.takeTimeFloor((floorMs) => {
    if (isOfThisMachine && floor.get() === undefined) floor.put(floorMs)
  })
  return floor
}
