/** What `bookfeed doctor` looks at. */
import { type Config, settingsOf } from '#src/config/config.ts'
import { messageOf } from '#src/platform/message.ts'
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
    const todo =
      'Start Redis, or correct BOOKFEED_LIMITS. Until then, each server admits its share of each limit.'
    return [found('wrong', `Redis cannot be used: ${messageOf(error)}.`, todo)]
  }
}
