/** Asks the venue's catalogue what is due, few questions at a time, and again after failures. */
import type { Clock } from '#src/core/time.ts'
import { messageOf } from '#src/lib/message.ts'
import { CatalogueFault } from '#src/venue/catalogue.ts'

import type { Reporter } from './ports.ts'

/** Questions that are on their way at a time. */
const ASKED_MAX = 4
const ASK_MS_MAX = 10_000
const BACKOFF_MS = 1000
const BACKOFF_MS_MAX = 60_000

export type QuestionsOptions = {
  clock: Clock
  /** From 0, inclusive, to 1, exclusive. */
  random: () => number
  reporter: Reporter
}

type Question = {
  /** Returns when to ask again; undefined when there is nothing more to ask. */
  ask: (signal: AbortSignal) => Promise<number | undefined>
  dueMs: number
  tries: number
}

export function createQuestions({ clock, random, reporter }: QuestionsOptions) {
  const questions = new Map<string, Question>()
  const asked = new Set<string>()
  const stop = new AbortController()
  let pausedMs = 0

  function failed(question: Question, error: unknown): void {
    if (stop.signal.aborted) return
    const reason = messageOf(error).replace(/\.$/, '')
    const text = `The venue's catalogue cannot be asked: ${reason}. The recorder keeps trying.`
    reporter.report('catalogue', text)
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** question.tries++)
    question.dueMs = clock() + waitMs * (0.5 + random())
    const { retryAfterMs = 0 } = error instanceof CatalogueFault ? error : {}
    pausedMs = Math.max(pausedMs, clock() + retryAfterMs)
  }

  async function run(name: string, question: Question): Promise<void> {
    asked.add(name)
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(ASK_MS_MAX)])
      const againMs = await question.ask(signal)
      reporter.settle('catalogue', "The venue's catalogue answers again.")
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

  const isDue = ([name, { dueMs }]: [string, Question], nowMs: number): boolean =>
    nowMs >= pausedMs && dueMs <= nowMs && !asked.has(name)

  function tick(): void {
    const nowMs = clock()
    for (const each of questions) {
      if (asked.size >= ASKED_MAX || stop.signal.aborted) break
      if (isDue(each, nowMs)) void run(...each)
    }
  }

  return {
    add(name: string, ask: Question['ask'], dueMs: number): void {
      if (!questions.has(name)) questions.set(name, { ask, dueMs, tries: 0 })
    },
    drop: (name: string) => void questions.delete(name),
    /** Asks at once what waits for its time. */
    hasten(name: string): void {
      const question = questions.get(name)
      if (question !== undefined) question.dueMs = clock()
    },
    tick,
    size: () => questions.size,
    isAsking: () => asked.size > 0,
    /** How many more could be asked now, but for one. */
    room: () => Math.max(0, ASKED_MAX - 1 - asked.size),
    dispose: () => stop.abort(),
  }
}

export type Questions = ReturnType<typeof createQuestions>
