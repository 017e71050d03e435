/** Asks the venue what is due, few questions at a time, and again after failures. */

import type { Clock } from '#src/domain/time.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

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

/** Whom a question is for: one may be out of reach while the other answers. */
type Source = 'catalogue' | 'page'
const sourceNames: Readonly<Record<Source, string>> = {
  catalogue: "The venue's catalogue",
  page: "The venue's page of prices",
}

type Due = { dueMs: number; source?: Source }

type Question = {
  source: Source
  /** Returns when to ask again; undefined when there is nothing more to ask. */
  ask: (signal: AbortSignal) => Promise<number | undefined>
  dueMs: number
  tries: number
}

export function createQuestions({ clock, random, reporter }: QuestionsOptions) {
  const questions = new Map<string, Question>()
  const asked = new Set<string>()
  const stop = new AbortController()
  const pausedMs = { catalogue: 0, page: 0 }

  function failed(question: Question, error: unknown): void {
    if (stop.signal.aborted) return
    const reason = messageOf(error).replace(/\.$/, '')
    const { source } = question
    const text = `${sourceNames[source]} cannot be asked: ${reason}. The recorder keeps trying.`
    reporter.report(source, text)
    const waitMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** question.tries++)
    question.dueMs = clock() + waitMs * (0.5 + random())
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

  const isDue = ([name, { source, dueMs }]: [string, Question], nowMs: number): boolean =>
    nowMs >= pausedMs[source] && dueMs <= nowMs && !asked.has(name)

  function tick(): void {
    const nowMs = clock()
    for (const each of questions) {
      if (asked.size >= ASKED_MAX || stop.signal.aborted) break
      if (isDue(each, nowMs)) void run(...each)
    }
  }

  return {
    add(name: string, ask: Question['ask'], { dueMs, source = 'catalogue' }: Due): void {
      if (!questions.has(name)) questions.set(name, { source, ask, dueMs, tries: 0 })
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
