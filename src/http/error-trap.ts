import { type AnyElysia, Elysia, NotFoundError } from 'elysia'

import { MissingRoute } from './problem.ts'

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

    /** Returns what was thrown for a request, wrapped because anything can be thrown; once. */
    take(request: Request): { error: unknown } | undefined {
      const entry = caught.get(request)
      caught.delete(request)
      return entry
    },
  }
}

export type ErrorTrap = ReturnType<typeof createErrorTrap>
