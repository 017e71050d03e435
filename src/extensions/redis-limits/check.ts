/** What `bookfeed doctor` looks at. */
import { type Config, settingsOf } from '#src/config/config.ts'
import { codeOf, isUntrusted, messageOf } from '#src/platform/message.ts'
import { finder, type Finding } from '#src/server/finding.ts'

import { probeLimits } from './link.ts'
import { variables } from './variables.ts'

export async function checkLimits(config: Config): Promise<Finding[]> {
  const { limits } = settingsOf(config, variables)
  if (limits === '') return []
  const found = finder('limits')
  try {
    const { version, answerMs } = await probeLimits(limits)
    return [found('ok', `Redis ${version} answers in ${answerMs.toFixed(1)} ms.`)]
  } catch (error) {
    const todo = `${adviceOn(error)} Until then, each server admits its share of each limit.`
    return [found('wrong', `Redis cannot be used: ${messageOf(error)}.`, todo)]
  }
}

function adviceOn(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (codeOf(cause) === 'ERR_REDIS_AUTHENTICATION_FAILED')
    return 'Correct the user and the password in BOOKFEED_LIMITS.'
  if (isUntrusted(messageOf(error)))
    return 'If its certificate is of a private authority, name the file of that in BOOKFEED_CA_FILE.'
  return 'Start Redis, or correct BOOKFEED_LIMITS.'
}
