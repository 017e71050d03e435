/**
 * The thread that keeps replicas of stores up to date: it reads the database when that says that
 * something was committed, and four times a second in any case.
 */
import type { SQL } from 'bun'

import type { Replicas, ReplicasOptions, Replicated, StoreName } from '#src/database/stores.ts'
import { formatCount } from '#src/platform/count.ts'
import { messageOf } from '#src/platform/message.ts'
import { within } from '#src/platform/patience.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { shownAddress } from './address.ts'
import { connect } from './bridge.ts'
import { openReplica, type Replica } from './replica.ts'

const POLL_MS = 250
const HEARTBEAT_MS = 500
const CATCH_UP_MS_MAX = 1000
/** After a failure, twice as long after the next. */
const RETRY_MS = { min: 100, max: 1000 }
/** Polls in turn that found something of which no notification came, before it is listened to anew. */
const MISSED_MAX = 2
const PROGRESS_EVERY_MS = 2000

type Start = { stores: readonly Replicated[]; server: string; freshness: BigInt64Array }
type Said = { line: string; isFault: boolean } | { changed: StoreName } | { ready: true }
type Asked = { catchUp: StoreName }

/** Milliseconds of the clock that all threads share, which is never set. */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/** Resolves once every replica has been as new as its database. */
export async function startReplicas(
  stores: readonly Replicated[],
  { server, say, onChange }: ReplicasOptions,
): Promise<Replicas> {
  // As monotonicMs, of each store in its order; see `Replica.freshMs`.
  const freshness = new BigInt64Array(new SharedArrayBuffer(8 * stores.length))
  const ready = Promise.withResolvers<void>()
  const thread = replicaWorker.start({ stores, server, freshness }, (said: Said) => {
    if ('line' in said) say(said.line, said.isFault ? 'error' : 'info')
    else if ('changed' in said) onChange()
    else ready.resolve()
  })
  thread.result.catch((error) => {
    say(
      `bookfeed: the replica of the database is not kept up to date: ${messageOf(error)}`,
      'error',
    )
    ready.reject(error)
  })
  await ready.promise
  return {
    freshness,
    catchUp: (store) => thread.ask({ catchUp: store }),
    close: () => void thread.terminate(),
  }
}

function follow(
  replica: Replica,
  { place, store }: Replicated,
  tell: { onFresh: (freshMs: number) => void; onChange: () => void; say: (line: string) => void },
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
    // The last is called whenever it begins to listen, again after the connection was lost.
    own.listen(channel, hear, hear).catch(() => undefined)
    return own
  }

  /** A notification may be late; a connection may be dead without knowing it. */
  function noteMissed(): void {
    if (++missed < MISSED_MAX) return
    missed = 0
    void listener.close({ timeout: 0 }).catch(() => {})
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
      if (isChanged) tell.onChange()
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
          `bookfeed: the ${store} at ${shownAddress(place)} cannot be read: ${messageOf(error)}`,
        )
      await Bun.sleep(Math.min(RETRY_MS.max, RETRY_MS.min * 2 ** (failures - 1)))
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
    // What went wrong, a pull says.
    await replica.beat().catch(() => undefined)
    isBeating = false
  }, HEARTBEAT_MS)

  return {
    run,
    /** Resolves when the file has all that was committed before the call. */
    catchUp(): Promise<void> {
      const caughtUp = Promise.withResolvers<void>()
      waiting.push(caughtUp)
      wake.resolve()
      return within(CATCH_UP_MS_MAX, caughtUp.promise)
    },
  }
}

/** Says now and then how far a copy is. */
function createProgress(store: StoreName, say: (line: string) => void) {
  let shownMs = performance.now()
  return (rows: number, table: string): void => {
    if (performance.now() - shownMs < PROGRESS_EVERY_MS) return
    shownMs = performance.now()
    say(`bookfeed: copied ${formatCount(rows)} rows of the ${store}, now of ${table}`)
  }
}

async function keepReplicas(
  { stores, server, freshness }: Start,
  parent: Parent<Said, Asked>,
): Promise<void> {
  const say = (line: string, isFault: boolean): void => parent.send({ line, isFault })
  const followers = new Map<StoreName, ReturnType<typeof follow>>()
  for (const [index, replicated] of stores.entries()) {
    const { store } = replicated
    const replica = openReplica({
      ...replicated,
      server,
      timer: monotonicMs,
      onProgress: createProgress(store, (line) => say(line, false)),
    })
    await replica.beat()
    await replica.pull()
    const onFresh = (freshMs: number): void =>
      void Atomics.store(freshness, index, BigInt(Math.floor(freshMs)))
    onFresh(replica.freshMs())
    followers.set(
      store,
      follow(replica, replicated, {
        onFresh,
        onChange: () => parent.send({ changed: store }),
        say: (line) => say(line, true),
      }),
    )
  }
  parent.send({ ready: true })
  void parent.receive(({ catchUp }) => followers.get(catchUp)?.catchUp())
  await Promise.all([...followers.values()].map((follower) => follower.run()))
}

const replicaWorker = defineWorker(
  { name: 'replica', purpose: 'copies the database', file: import.meta.filename },
  keepReplicas,
)
