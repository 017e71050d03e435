/** The checks of `bookfeed doctor`. */
import { type Config, settingsOf } from '#src/config/config.ts'
import { messageOf } from '#src/platform/message.ts'
import { finder, type Finding } from '#src/server/extension.ts'

import { openArchive } from './range-reader.ts'
import { variables } from './variables.ts'

export async function checkArchive(config: Config): Promise<Finding[]> {
  const { archive } = settingsOf(config, variables)
  if (archive === '') return []
  const found = finder('archive')
  try {
    const begunMs = performance.now()
    await openArchive(archive).probe()
    return [found('ok', `${archive} answers in ${Math.round(performance.now() - begunMs)} ms.`)]
  } catch (error) {
    const todo = 'Until the bucket is available, the server cannot serve the books in it.'
    return [found('wrong', messageOf(error), todo)]
  }
}
