/** Lines of a process that runs on: each with its time and level, as the access log is. */
import { toIso } from '#src/core/time.ts'
import { redactKeys } from '#src/selling/api-key.ts'

import type { CliContext } from './context.ts'
import { asTyped } from './invocation.ts'

/** What commands put in front of a line for people, who know the time. */
const PREFIX = /^bookfeed: /

/** The same context, whose lines on standard error are as `BOOKFEED_LOG` has them. */
export function asService(context: CliContext): CliContext {
  const { clock, invocation, writeLog } = context
  const isText = context.config().log === 'text'
  return {
    ...context,
    printError(line, level = 'info', requestId) {
      const time = toIso(clock())
      const message = redactKeys(asTyped(line.replace(PREFIX, ''), invocation))
      const named = requestId === undefined ? '' : ` ${requestId}`
      writeLog(
        isText
          ? `${time} ${level} ${message}${named}\n`
          : `${JSON.stringify({ time, level, requestId, message })}\n`,
      )
    },
  }
}
