/** The client of the operator's routes: from this machine without anything, else with the token. */

import { useEffect, useState } from 'preact/hooks'

import { type Problem, send, toProblem, urlOf } from './api.ts'
import { createStore, useStore } from './store.ts'

export type {
  Account,
  AuditList,
  Job,
  MadeKey,
  Overview,
  Payment,
  PaymentList,
  Tier,
  TierPlan,
  Transfer,
} from '#src/modules/admin/model.ts'

/** In memory alone: it opens everything. */
export const tokenStore = createStore<string | undefined>(undefined)
/** Rises with each change, so that whatever is shown is asked for again. */
const changes = createStore(0)

type Options = { body?: object; query?: Record<string, string | undefined>; signal?: AbortSignal }

async function ask<T>(path: string, { body, query, signal }: Options): Promise<T> {
  const token = tokenStore.get()
  const response = await send(`/admin/api${path}`, {
    authorization: token === undefined ? null : `Bearer ${token}`,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { method: 'POST', body }),
    ...(signal === undefined ? {} : { signal }),
  })
  return (await response.json()) as T
}

/** Changes something; returns the answer, or why not. */
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

export type Asked<T> = { data?: T; problem?: Problem }

/** What a route says now and, with `everyMs`, again and again while the page is seen. */
export function useAdmin<T>(
  path: string,
  query?: Record<string, string | undefined>,
  everyMs?: number,
): Asked<T> {
  const [state, setState] = useState<Asked<T>>({})
  const [token, change] = [useStore(tokenStore), useStore(changes)]
  const url = urlOf(path, query)
  useEffect(() => {
    const aborter = new AbortController()
    let timer = 0
    const wait = () => {
      if (everyMs !== undefined) timer = window.setTimeout(load, everyMs)
    }
    const load = () => {
      if (timer !== 0 && document.visibilityState !== 'visible') return wait()
      return ask<T>(url, { signal: aborter.signal }).then(
        (data) => {
          setState({ data })
          wait()
        },
        (error: unknown) => {
          if (aborter.signal.aborted) return
          const problem = toProblem(error)
          // What was there stays; whether it is old is said beside it.
          setState((before) => ({ ...before, problem }))
          if (problem.status !== 403) wait()
        },
      )
    }
    void load()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [url, token, change, everyMs])
  return state
}
