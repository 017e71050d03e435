/** Log lines of a service: each has its time and level, as in the access log. */
import { format } from 'node:util'

import { redactKeys } from '#src/domain/selling/api-key.ts'
import { toIso } from '#src/domain/time.ts'
import type { Level, Log } from '#src/platform/log.ts'

import type { CliContext } from './extension.ts'
import { asTyped } from './invocation.ts'

/** The prefix of lines that commands print for people. */
const PREFIX = /^bookfeed: /

/**
 * The same context with lines on standard error as `BOOKFEED_LOG` says; its configuration has `text`
 * or `json` in place of `auto`. Until it is disposed of, lines that the runtime and packages print
 * to the console are written in the same way.
 */
export function asService(context: CliContext): CliContext & Disposable {
  const { clock, writeLog, isTty } = context
  const read = context.config()
  const config = read.log === 'auto' ? ({ ...read, log: isTty ? 'text' : 'json' } as const) : read
  const isText = config.log === 'text'
  const printError: Log = (line, level = 'info', requestId) => {
    const time = toIso(clock())
    const message = redactKeys(asTyped(line.replace(PREFIX, ''), context))
    const named = requestId === undefined ? '' : ` ${requestId}`
    writeLog(
      isText
        ? `${time} ${level} ${message}${named}\n`
        : `${JSON.stringify({ time, level, requestId, message })}\n`,
    )
  }
  return { ...context, config: () => config, printError, [Symbol.dispose]: hearConsole(printError) }
}

/** Writes lines of the console as log lines; the result undoes it. */
function hearConsole(printError: Log): () => void {
  const { warn, error } = console
  const as =
    (level: Level) =>
    (...parts: unknown[]) =>
      printError(format(...parts), level)
  Object.assign(console, { warn: as('warn'), error: as('error') })
  return () => void Object.assign(console, { warn, error })
}
