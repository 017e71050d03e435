/** Lines of a process that runs on: each with its time and level, as the access log is. */
import { format } from 'node:util'

import { redactKeys } from '#src/domain/selling/api-key.ts'
import { toIso } from '#src/domain/time.ts'
import type { Level, Log } from '#src/platform/log.ts'

import type { CliContext } from './extension.ts'
import { asTyped } from './invocation.ts'

/** What commands put in front of a line for people, who know the time. */
const PREFIX = /^bookfeed: /

/**
 * The same context, whose lines on standard error are as `BOOKFEED_LOG` has them; in its
 * configuration, `auto` is decided. Until it is disposed of, so is what the runtime and packages
 * print by themselves; Bun's driver does, of a PostgreSQL that is away.
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

/** Returns what leaves the console as it was. */
function hearConsole(printError: Log): () => void {
  const { warn, error } = console
  const as =
    (level: Level) =>
    (...parts: unknown[]) =>
      printError(format(...parts), level)
  Object.assign(console, { warn: as('warn'), error: as('error') })
  return () => void Object.assign(console, { warn, error })
}
