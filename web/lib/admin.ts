/** The client of the operator's routes: without a token from this machine, else with it. */

import {
  type Loaded,
  type Problem,
  type QueryValues,
  request,
  toProblem,
  urlOf,
  useAsked,
} from './api.ts'
import { tokenStore } from './key.ts'
import { createStore, useStore } from './store.ts'

export type {
  Account,
  ActivitySeries,
  AuditList,
  Job,
  MadeKey,
  Overview,
  Payment,
  PaymentList,
  Sales,
  Tier,
  TierPlan,
  Transfer,
} from '#src/features/admin/schema.ts'

/** Rises with each change, so that shown data is requested again. */
const changes = createStore(0)

type Options = { body?: object; signal?: AbortSignal }

function ask<T>(path: string, options: Options): Promise<T> {
  const token = tokenStore.get()
  const authorization = token === undefined ? null : `Bearer ${token}`
  const method = options.body === undefined ? {} : ({ method: 'POST' } as const)
  return request<T>(`/admin/api${path}`, { authorization, ...method, ...options })
}

/** Sends a change; returns the response or the problem. */
export async function act<T>(path: string, body: object): Promise<T | Problem> {
  try {
    return await ask<T>(path, { body })
  } catch (error) {
    return toProblem(error)
  } finally {
    changes.set(changes.get() + 1)
  }
}
export const isProblem = (answer: object): answer is Problem =>
  'code' in answer && 'detail' in answer

export type Asked<T> = Pick<Loaded<T>, 'data' | 'problem'>

/** Reads a route now and after each change, and with `everyMs` repeatedly. */
export const useAdmin = <T>(path: string, query?: QueryValues, everyMs?: number): Asked<T> =>
  useAsked<T>({
    url: urlOf(path, query),
    ask,
    everyMs,
    whose: useStore(tokenStore),
    again: useStore(changes),
  })
