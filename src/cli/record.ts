import { Command } from 'commander'

import { watchClocks } from '../server/clocks.ts'
import { stopSignal } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { checkAddressAt } from '../server/listen.ts'
import { startRecorderMetrics } from '../server/metrics.ts'
import { holdDataFolder, openDataFolder } from '../server/open-data-folder.ts'
import { startRecording } from '../server/recording.ts'
import { startRetention } from '../server/retention.ts'
import { backUpBeforeUpgrade } from '../server/scheduled-backups.ts'
import { asService } from '../server/service-lines.ts'

const help = `
Finds and records markets until SIGTERM or SIGINT. bookfeed serve does the same beside serving, unless
BOOKFEED_RECORD is off; run this command if another process serves the same folder.
bookfeed status shows the state of the recorder, from any terminal. With BOOKFEED_RECORD_METRICS,
Prometheus and probes can ask it: /metrics, /readyz and /healthz.`

/** `bookfeed record`: records the venue without serving. */
export const recordCommand = (context: CliContext): Command =>
  new Command('record')
    .description('record the venue until SIGTERM or SIGINT, without serving')
    .addHelpText('after', help)
    .action(() => record(context))

async function record(real: CliContext): Promise<void> {
  using context = asService(real)
  const { recordMetrics } = context.config()
  if (recordMetrics !== '') await checkAddressAt(recordMetrics, 'BOOKFEED_RECORD_METRICS', context)
  using _recorder = holdDataFolder(context, 'recorder')
  await backUpBeforeUpgrade(context)
  await using history = await openDataFolder(context, 'record')
  await using clocks = await watchClocks(context)
  const { recordCoins, recordTimeframes } = context.config()
  using stop = stopSignal(context)
  await using job = startRecording(context, history, { clockFault: clocks.fault })
  await using _retention = startRetention(context, history)
  using metrics = await startRecorderMetrics(context, {
    warning: job.warning,
    fault: () => clocks.fault() ?? job.fault(),
  })
  context.print(`Recording ${recordCoins.join(', ')} of ${recordTimeframes.join(', ')}.`)
  if (metrics !== undefined) context.print(`Metrics: ${metrics.url}`)
  if (!stop.signal.aborted)
    await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
}
