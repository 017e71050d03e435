/** The server extension of calibration. */
import type { ServerExtension } from '#src/server/extension.ts'

import { calibrationRoutes } from './routes.ts'
import { createTableStore } from './store.ts'
import { startCalibration } from './worker.ts'

export const calibrationServer: ServerExtension = {
  dataRoutes: (api, { config }) => [calibrationRoutes(api, createTableStore(config.dataPath))],
  jobs: [
    {
      name: 'calibration',
      about: 'Counts once a day how often Up won at each distance from the strike.',
      start: startCalibration,
    },
  ],
}
