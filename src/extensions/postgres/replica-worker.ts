/**
 * The thread that keeps replicas up to date. It pulls when PostgreSQL notifies it of a commit, and at
 * least four times a second.
 */
import type { SQL } from 'bun'

import { noteKnown } from '#src/database/copies.ts'
import { storageError } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import type { Replicas, ReplicasOptions, SharedPlace, StoreName } from '#src/database/stores.ts'
import { backoffMs } from '#src/platform/backoff.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf, sentenceOf } from '#src/platform/message.ts'
import { within } from '#src/platform/timeout.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { shownAddress } from './address.ts'
import { answerTimes, memoryOf, openTimes, type TimesMemory } from './answer-times.ts'
import { closeNow, connect } from './connection.ts'
import { Busy } from './copied-file.ts'
import { errorOf, type Failure, failureOf } from './faults.ts'
import { formats } from './formats.ts'
import { openReplica, type Replica } from './replica.ts'

const POLL_MS = 250
const HEARTBEAT_MS = 500
const PULL_MS_MAX = 1000
/** The pause after a failed pull, which doubles with each failure in a row. */
const RETRY_MS = { min: 100, max: 1000 }
/**
 * After this many consecutive pulls that found a change without a notification, `LISTEN` is sent
 * again.
 */
const MISSED_MAX = 2
/** The pause before a thread that ended is started again, so that a thread that fails at its start does not take the processor. */
const RESTART_MS = 1000
/** Time limit of the start, while the machine is busy or a standby is starting. */
const START_MS_MAX = 30_000
const UNCONFIRMED =
  'PostgreSQL answers, but confirms no commit: a standby is missing or hangs, or a lock is held. bookfeed doctor tells which'

type Start = {
  stores: readonly (SharedPlace & { version: number; times: TimesMemory })[]
  server: string
  /** Shared memory with the freshness of the files. */
  known: SharedArrayBuffer
  /** The first thread's monotonic clock at the start of this one. */
  startedMs: number
}
type Said = { line: string; isFault: boolean } | { ready: true }
type Asked = { pull: StoreName } | { probe: StoreName }

/**
 * Starts the thread. Resolves when it has pulled every replica once; rejects with
 * `storage_unavailable` if it cannot.
 */
export async function startReplicas(
  stores: readonly SharedPlace[],
  { server, timer, known, say }: ReplicasOptions,
): Promise<Replicas> {
  const versioned = stores.map((each) => ({
    ...each,
    version: formatOf(formats[each.store].migrations),
    times: memoryOf(answerTimes[each.store]),
  }))
  const ready = Promise.withResolvers<void>()
  let isReady = false
  let isClosing = false

  function start() {
    const begin = { stores: versioned, server, known, startedMs: timer() }
    const started = replicaWorker.start(begin, (said: Said) => {
      if ('line' in said) say(said.line, said.isFault ? 'error' : 'info')
      else {
        isReady = true
        ready.resolve()
      }
    })
    started.result.catch((error) => {
      if (isClosing) return
      if (!isReady) {
        ready.reject(storageError(`The database is not copied: ${sentenceOf(error)}`))
        return
      }
      say(`bookfeed: the database is not copied: ${messageOf(error)}`, 'error')
      setTimeout(() => {
        if (!isClosing) thread = start()
      }, RESTART_MS)
    })
    return started
  }
  let thread = start()
  await ready.promise
  return {
    pull: (store) => thread.ask({ pull: store }),
    async probeWrite(store) {
      const failure = await thread.ask<Failure | undefined>({ probe: store })
      if (failure !== undefined) throw errorOf(failure)
    },
    close() {
      isClosing = true
      return thread.terminate()
    },
  }
}

function follow(
  replica: Replica,
  { address, store }: SharedPlace,
  tell: { onFresh: (freshMs: number) => void; say: (line: string) => void },
) {
  const channel = `changes_${replica.address.schema}`
  let wake = Promise.withResolvers<void>()
  let waiting: PromiseWithResolvers<void>[] = []
  let isNotified = false
  let missed = 0
  let failures = 0
  let listener = listen()

  function listen(): SQL {
    const own = connect(replica.address)
    const hear = (): void => {
      isNotified = true
      wake.resolve()
    }
    // The second callback runs when the connection listens, and after each reconnect, which may
    // have missed notifications.
    own.listen(channel, hear, hear).catch(() => undefined)
    return own
  }

  /** One notification may be late; several that are missing mean that the connection is dead. */
  function noteMissed(): void {
    if (++missed < MISSED_MAX) return
    missed = 0
    void closeNow(listener)
    listener = listen()
  }

  async function pull(): Promise<void> {
    const wasNotified = isNotified
    isNotified = false
    wake = Promise.withResolvers<void>()
    const served = waiting
    waiting = []
    try {
      const isChanged = await replica.pull()
      if (wasNotified) missed = 0
      else if (isChanged && served.length === 0) noteMissed()
      tell.onFresh(replica.freshMs())
      for (const { resolve } of served) resolve()
      if (failures > 0) tell.say(`bookfeed: the ${store} is read again`)
      failures = 0
    } catch (error) {
      waiting.push(...served)
      if (failures++ === 0)
        tell.say(
          `bookfeed: the ${store} at ${shownAddress(address)} cannot be read: ${textOf(error)}`,
        )
      await Bun.sleep(backoffMs(failures, RETRY_MS))
    }
  }

  async function run(): Promise<never> {
    for (;;) {
      await Promise.race([wake.promise, Bun.sleep(POLL_MS)])
      await pull()
    }
  }

  let isBeating = false
  setInterval(async () => {
    if (isBeating) return
    isBeating = true
    // A pull reports the same fault.
    await replica.beat().catch(() => undefined)
    isBeating = false
  }, HEARTBEAT_MS)

  return {
    run,
    /** Reason why the database cannot be written to, or will soon be full; undefined if it can. */
    async probe(): Promise<Failure | undefined> {
      try {
        await replica.beat({ takesRoom: true })
        return undefined
      } catch (error) {
        return failureOf(error)
      }
    },
    /** Resolves when the file has everything that was committed before the call. */
    pullNext(): Promise<void> {
      const caughtUp = Promise.withResolvers<void>()
      waiting.push(caughtUp)
      wake.resolve()
      return within(PULL_MS_MAX, caughtUp.promise)
    },
  }
}

/** The message of an error of the driver or the disk. */
const textOf = (error: unknown): string =>
  messageOf(error instanceof Busy ? error : errorOf(failureOf(error)))

/** Repeats a call without a response, for at most the time of a start. */
async function untilAnswered(call: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + START_MS_MAX
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      if (!isFault(error, 'no_answer') || performance.now() >= untilMs) throw error
    }
  }
}

async function keepReplicas(
  { stores, server, known, startedMs }: Start,
  parent: Parent<Said, Asked>,
): Promise<void> {
  const say = (line: string, isFault: boolean): void => parent.send({ line, isFault })
  const followers = new Map<StoreName, ReturnType<typeof follow>>()
  for (const replicated of stores) {
    const { store, times } = replicated
    const replica = openReplica({
      ...replicated,
      place: replicated.address,
      times: openTimes(times),
      server,
      timer: () => startedMs + performance.now(),
      say: (line) => say(`bookfeed: ${line}`, false),
    })
    await untilAnswered(replica.pull).catch((error) => {
      throw new Error(
        `the ${store} at ${shownAddress(replicated.address)} cannot be read: ${textOf(error)}`,
      )
    })
    await untilAnswered(() => replica.beat()).catch((error) => {
      throw new Error(isFault(error, 'no_answer') ? UNCONFIRMED : textOf(error))
    })
    await replica.pull()
    const onFresh = (freshMs: number): void => noteKnown(known, store, freshMs)
    onFresh(replica.freshMs())
    followers.set(
      store,
      follow(replica, replicated, {
        onFresh,
        say: (line) => say(line, true),
      }),
    )
  }
  parent.send({ ready: true })
  void parent.receive((asked) =>
    'pull' in asked ? followers.get(asked.pull)?.pullNext() : followers.get(asked.probe)?.probe(),
  )
  await Promise.all([...followers.values()].map((follower) => follower.run()))
}

const replicaWorker = defineWorker(
  { name: 'replica', purpose: 'copies the database', file: import.meta.filename },
  keepReplicas,
)
