/** Calibration: how often Up won at each distance from the strike, over ended windows. */
import type { Extension } from '#src/server/extension.ts'

export const calibration: Extension = {
  name: 'calibration',
  workers: {
    calibration: async () => (await import('./worker.ts')).calibrationWorker,
  },
  load: async () => (await import('./server.ts')).calibrationServer,
}
