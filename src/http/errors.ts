/**
 * Anything thrown becomes a failure that may be shown. Elysia's own bodies never leave: they carry
 * the message of any error and the refused input. The plugin only remembers what was thrown; the
 * front door, which knows the request id, writes the answer.
 */
import { type AnyElysia, Elysia, NotFoundError } from 'elysia'

import { AppError, errorCodes } from '#src/core/errors.ts'
import { messageOf } from '#src/lib/message.ts'

import type { Failure } from './problem.ts'

export type ErrorTrap = {
  /** Must be the first plugin of an app. */
  plugin: AnyElysia
  /** Returns what was thrown for a request, wrapped because anything can be thrown; once. */
  take(request: Request): { error: unknown } | undefined
}

/** Creates the plugin that catches, and the way to what it caught. */
export function createErrorTrap(): ErrorTrap {
  const caught = new WeakMap<Request, { error: unknown }>()
  const plugin = new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ error, request }) => {
    caught.set(request, { error })
    return new Response(null, { status: 500 })
  })
  return {
    plugin,
    take(request) {
      const entry = caught.get(request)
      caught.delete(request)
      return entry
    },
  }
}

/** True for Elysia's answer to an address or method that no route has. */
export const isMissingRoute = (error: unknown): boolean => error instanceof NotFoundError

/** Translates anything thrown; what is not known to be harmless becomes `internal`. */
export function toFailure(error: unknown): Failure {
  if (error instanceof AppError) {
    return { code: error.code, detail: error.message, extras: error.extras }
  }
  // Elysia validates and parses nothing of ours, so what it throws besides is a fault too.
  const detail = 'The server failed. Report the requestId; a retry may help.'
  return { code: 'internal', detail, extras: {} }
}

/**
 * Describes an error for the log, with its causes; undefined for what the caller caused. What is
 * expected to happen, such as a 503 of billing that is closed, has no stack: it would only say
 * where that is decided.
 */
export function describeFault(error: unknown): string | undefined {
  if (errorCodes[toFailure(error).code].status < 500) return undefined
  const lines: string[] = []
  let current = error
  // A chain of causes can be a circle.
  for (let depth = 0; depth < 5 && current !== undefined; depth++) {
    lines.push(error instanceof AppError ? lineOf(current) : textOf(current))
    current = current instanceof Error ? current.cause : undefined
  }
  return lines.join('\nCaused by: ')
}

const lineOf = (error: unknown): string =>
  error instanceof AppError ? `${error.code}: ${error.message}` : messageOf(error)

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
