/** A queue of requests to the venue with limited concurrency and retries. */

import type { Clock } from '#src/domain/time.ts'
import { isFault } from '#src/platform/fault.ts'
import { sentenceOf } from '#src/platform/message.ts'

import { backoffMs } from './backoff.ts'
import type { Reporter } from './ports.ts'

/** The maximum number of concurrent requests. */
const ASKED_MAX = 4
const ASK_MS_MAX = 10_000
const BACKOFF = { firstMs: 1000, maxMs: 60_000 }

/** Sources fail independently: one may be unreachable while the other answers. */
const sourceNames = {
  catalogue: "The venue's catalogue",
  page: "The venue's page of prices",
  costs: "The venue's order book API",
} as const

type Question = {
  source: keyof typeof sourceNames
  /** Sends the request; returns when to repeat it, undefined if it is done. */
  ask: (signal: AbortSignal) => Promise<number | undefined>
  dueMs: number
  tries: number
}

/** `random` returns numbers from 0, inclusive, to 1, exclusive. */
export function createQuestions(clock: Clock, random: () => number, reporter: Reporter) {
  const questions = new Map<string, Question>()
  const asked = new Set<string>()
  const stop = new AbortController()
  const pausedMs = { catalogue: 0, page: 0, costs: 0 }

  function failed(question: Question, error: unknown): void {
    if (stop.signal.aborted) return
    const { source } = question
    const reason = sentenceOf(error)
    const text = `${sourceNames[source]} cannot be asked: ${reason} The recorder keeps trying.`
    reporter.report(source, text)
    question.dueMs = clock() + backoffMs(BACKOFF, question.tries++, random)
    const { retryAfterMs = 0 } = isFault(error, 'catalogue') ? error : {}
    pausedMs[source] = Math.max(pausedMs[source], clock() + retryAfterMs)
  }

  async function run(name: string, question: Question): Promise<void> {
    asked.add(name)
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(ASK_MS_MAX)])
      const againMs = await question.ask(signal)
      reporter.settle(question.source, `${sourceNames[question.source]} answers again.`)
      question.tries = 0
      if (againMs === undefined) questions.delete(name)
      else question.dueMs = againMs
    } catch (error) {
      failed(question, error)
    } finally {
      asked.delete(name)
      tick()
    }
  }

  function tick(): void {
    const nowMs = clock()
    for (const [name, question] of questions) {
      if (asked.size >= ASKED_MAX || stop.signal.aborted) break
      const { dueMs, source } = question
      if (dueMs <= nowMs && pausedMs[source] <= nowMs && !asked.has(name)) void run(name, question)
    }
  }

  return {
    /** Adds a question, unless one with that name exists. */
    add(
      name: string,
      dueMs: number,
      ask: Question['ask'],
      source: Question['source'] = 'catalogue',
    ): void {
      if (!questions.has(name)) questions.set(name, { source, ask, dueMs, tries: 0 })
    },
    drop: (name: string) => void questions.delete(name),
    /** Sends a waiting question at once. */
    hasten(name: string): void {
      const question = questions.get(name)
      if (question !== undefined) question.dueMs = clock()
    },
    tick,
    size: () => questions.size,
    isAsking: () => asked.size > 0,
    /**
     * The number of further questions that can start now, with one left free for a question that
     * becomes due.
     */
    room: () => Math.max(0, ASKED_MAX - 1 - asked.size),
    dispose: () => stop.abort(),
  }
}
