/** The connection to the Redis in which servers count together, and how many of them there are. */

import { RedisClient } from 'bun'

import type { Clock } from '#src/domain/time.ts'
import { createAnswerTimes } from '#src/platform/answer-times.ts'
import { count } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import { codeOf, messageOf } from '#src/platform/message.ts'
import { within } from '#src/platform/patience.ts'

import { BEAT, type BeatReply, LEAVE, PROBE, TAKE, windowPrefix } from './scripts.ts'

const CONNECT_MS_MAX = 1_000
/** Longer than an answer takes, and short enough for a caller to wait. */
const ANSWER_MS_MAX = 200
const BEAT_MS = 100
/** As long as a window of requests. */
const COUNTS_LOST_MS = 60_000
/**
 * A server that has sent nothing for this long is not counted. One that has ended keeps its share
 * until each window is over of which it admitted some: its last requests come after its last beat.
 */
const ABSENT_MS = COUNTS_LOST_MS + 5_000
/** Ended windows are forgotten whenever so many are known. */
const POOLED_MAX = 10_000

/** How long Redis took to answer this thread, and whether it answered last. */
export const answers = { times: createAnswerTimes(), isUp: false }

export type LimitsLink = Awaited<ReturnType<typeof connectLimits>>

export type LinkOptions = {
  /** `redis://…` or `rediss://…`. */
  url: string
  /** Names this server among the others; the same for all its threads. */
  server: string
  /** Names this thread among those of the server. */
  thread?: number | undefined
  /** Monotonic milliseconds. */
  timer: Clock
  say?: ((line: string, level: 'error' | 'info') => void) | undefined
  /** A lost connection is replaced by the next beat. */
  open?: (url: string) => RedisConnection
}

export type RedisConnection = {
  connect(): Promise<void>
  send(command: string, words: string[]): Promise<unknown>
  close(): void
}

const openConnection = (url: string): RedisConnection =>
  new RedisClient(url, {
    connectionTimeout: CONNECT_MS_MAX,
    autoReconnect: false,
    enableOfflineQueue: false,
  })

const scripts = [TAKE, BEAT, LEAVE]
/** By which a Redis names a script that it has loaded. */
const digests = new Map(
  scripts.map((script) => [script, new Bun.CryptoHasher('sha1').update(script).digest('hex')]),
)
const digestOf = (script: string): string => digests.get(script) ?? ''

async function prepare(connection: RedisConnection): Promise<void> {
  await connection.connect()
  await Promise.all(scripts.map((script) => connection.send('SCRIPT', ['LOAD', script])))
}

/** Why it cannot be used, within a sentence. */
function reasonOf(error: unknown): string {
  const message = messageOf(error)
  if (message.startsWith('NOAUTH')) return 'it asks for a password'
  const isSilent = isFault(error, 'no_answer') || /CONNECTION/.test(codeOf(error))
  return isSilent ? 'nothing answers there' : message.replace(/\.$/, '')
}

/** The version of what answers there, and the time of an answer. Rejects where nothing does, or no script may run. */
export async function probeLimits(url: string): Promise<{ version: string; answerMs: number }> {
  const client = new RedisClient(url, { connectionTimeout: CONNECT_MS_MAX, autoReconnect: false })
  try {
    // Like a request, with a write that needs memory.
    await within(CONNECT_MS_MAX, client.send('EVAL', [PROBE, '1', windowPrefix('probe')]))
    const begunMs = performance.now()
    const info: string = await within(CONNECT_MS_MAX, client.send('INFO', ['server']))
    const answerMs = performance.now() - begunMs
    return { version: /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? 'unknown', answerMs }
  } catch (cause) {
    throw new Error(reasonOf(cause), { cause })
  } finally {
    client.close()
  }
}

/** Connects, and again whenever the connection is lost; resolves also where there is no answer. */
export async function connectLimits({
  url,
  server,
  thread = 0,
  timer,
  say = () => undefined,
  open = openConnection,
}: LinkOptions) {
  const name = `${server} ${thread}`
  let connection = open(url)
  let isConnecting = false
  let isBeating = false
  let isUp = false
  let hasSaid = false
  let servers = 1
  /** Requests that were sent and are not yet counted here. */
  let pending = 0
  let takenMs = Number.NEGATIVE_INFINITY
  let generation = ''
  let lastNumber = 0
  let wasDown = false
  let upSinceMs = Number.NEGATIVE_INFINITY
  let countsLostMs = Number.NEGATIVE_INFINITY
  const pooledEnds = new Map<string, number>()
  const listeners: ((window: string) => Promise<void>)[] = []

  /** A new connection, as one that failed once may never answer again; one attempt at a time. */
  async function connect(): Promise<void> {
    if (isConnecting) return
    isConnecting = true
    connection.close()
    connection = open(url)
    await within(CONNECT_MS_MAX, prepare(connection)).catch(() => undefined)
    isConnecting = false
  }

  /** Rejects where there is no answer in time; then no window is asked for until the next beat. */
  async function run<T>(script: string, names: string[], values: unknown[]): Promise<T> {
    const begunMs = timer()
    try {
      const words = [digestOf(script), String(names.length), ...names, ...values.map(String)]
      const answer = await within(ANSWER_MS_MAX, connection.send('EVALSHA', words))
      answers.times.answered(timer() - begunMs)
      answers.isUp = true
      return answer as T
    } catch (error) {
      answers.times.failed()
      answers.isUp = false
      isUp = false
      wasDown = true
      throw error
    }
  }

  /** What was counted together before is nowhere now. */
  function noticeGeneration(found: string): void {
    if (generation !== '' && generation !== found) countsLostMs = timer()
    generation = found
  }

  function forgetEnded(): void {
    if (pooledEnds.size < POOLED_MAX) return
    const nowMs = timer()
    for (const [window, endMs] of pooledEnds) if (endMs <= nowMs) pooledEnds.delete(window)
  }

  /** Rejects where another thread could rely on what was not passed on. */
  async function notePooled(windows: readonly [string, number][]): Promise<void> {
    forgetEnded()
    const nowMs = timer()
    for (const [window, leftMs] of windows) {
      if (leftMs > 0) pooledEnds.set(window, nowMs + leftMs)
    }
    const heard = windows.flatMap(([window]) => listeners.map((listener) => listener(window)))
    await Promise.all(heard)
  }

  /** Whether there was news: then the others wait to hear that it has arrived. */
  async function exchange(): Promise<boolean> {
    const values = [name, ABSENT_MS, lastNumber, generation]
    const [found, ofCounts, number, ...windows] = await run<BeatReply>(BEAT, [], values)
    noticeGeneration(ofCounts)
    // A Redis that has lost its counts hears of the other servers one after the other.
    const isNew = timer() - countsLostMs < ABSENT_MS
    servers = isNew ? Math.max(servers, found) : found
    await notePooled(windows)
    lastNumber = number
    return windows.length > 0
  }

  function rise(): void {
    // What is on its way may still be counted there.
    if (isUp || pending > 0) return
    isUp = true
    if (wasDown) upSinceMs = timer()
    wasDown = false
    if (hasSaid)
      say(
        `BOOKFEED_LIMITS answers again; ${count(servers, 'server')} ${servers === 1 ? 'has' : 'share'} the limits.${lost()}`,
        'info',
      )
    hasSaid = false
  }

  /** For each kind of window, until every one that could be missing is over. */
  function lost(): string {
    const isLost = timer() - countsLostMs < COUNTS_LOST_MS
    return isLost ? ` It has lost its counts, so each admits 1/${servers} for another minute.` : ''
  }

  function tell(error: unknown): void {
    const what = `cannot be used (${reasonOf(error)})`
    const until = `This server admits 1/${servers} of each limit until it can.`
    if (!hasSaid) say(`BOOKFEED_LIMITS ${what}. ${until}`, 'error')
    hasSaid = true
  }

  async function beat(): Promise<void> {
    if (isBeating || isConnecting) return
    isBeating = true
    try {
      if (await exchange()) await exchange()
      rise()
    } catch (error) {
      tell(error)
      void connect()
    } finally {
      isBeating = false
    }
  }
  await connect()
  await beat()
  const beating = setInterval(beat, BEAT_MS)

  return {
    run,
    /** Of the counts in Redis; as last received. */
    generation: (): string => generation,
    /** As last received; includes this one, and those that ended within the last minute. */
    servers: (): number => servers,
    /** Whether windows of this length are counted in Redis: it holds all of them, and answers. */
    isCounting: (windowMs: number): boolean => isUp && timer() - countsLostMs >= windowMs,
    /** Whether this thread may have admitted requests of a running window without Redis. */
    wasAlone: (windowMs: number): boolean =>
      !isUp || timer() - Math.max(upSinceMs, countsLostMs + windowMs) < windowMs,
    /** The end of a window of which no server has a share; undefined for every other one. */
    pooledUntil: (window: string): number | undefined => pooledEnds.get(window),
    /** Calls back with each window that becomes pooled, before the others rely on it. */
    onPooled: (listener: (window: string) => Promise<void>) => void listeners.push(listener),

    /** While it works, no other request takes up counting again. */
    async during<T>(work: () => Promise<T>): Promise<T> {
      pending++
      try {
        return await work()
      } finally {
        pending--
      }
    },

    /** To be called before a request is taken from any window. */
    noteTake(): void {
      takenMs = timer()
    },

    /** Tells the other servers. */
    async dispose(): Promise<void> {
      clearInterval(beating)
      const mayCount = timer() - takenMs < ABSENT_MS
      if (isUp) await run(LEAVE, [], [name, Number(mayCount)]).catch(() => undefined)
      connection.close()
    },
  }
}
