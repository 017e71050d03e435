/** The server extension of the archive. */
import { settingsOf } from '#src/config/config.ts'
import type { ServerExtension } from '#src/server/extension.ts'
import { startCommand } from '#src/server/scheduled-command.ts'

import { variables } from './variables.ts'

export const archiveServer: ServerExtension = {
  jobs: [
    {
      name: 'archive',
      about: 'Moves old books to the bucket of BOOKFEED_ARCHIVE, every hour.',
      start: (context, report) =>
        settingsOf(context.config(), variables).archive === ''
          ? undefined
          : startCommand(
              context,
              { args: ['archive'], failed: 'old books could not be archived' },
              report,
            ),
    },
  ],
}
