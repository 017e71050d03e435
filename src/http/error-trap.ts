import { type AnyElysia, Elysia, NotFoundError } from 'elysia'

import { MissingRoute } from './problem.ts'

/** Lets what a handler of an Elysia app throws reach the caller of the app's `fetch`. */
export function createErrorTrap() {
  const caught = new WeakMap<Request, { error: unknown }>()
  const plugin: AnyElysia = new Elysia({ name: 'errors' }).onError(
    { as: 'global' },
    ({ error, request }) => {
      caught.set(request, { error: error instanceof NotFoundError ? new MissingRoute() : error })
      return new Response(null, { status: 500 })
    },
  )
  return {
    /** Must be the first of an app. */
    plugin,

    /** Returns the response of the app; throws what was thrown for the request, if anything was. */
    settle(request: Request, response: Response): Response {
      const thrown = response.status === 500 ? caught.get(request) : undefined
      if (thrown === undefined) return response
      caught.delete(request)
      throw thrown.error
    },
  }
}
