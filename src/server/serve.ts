/** A server, from its stores to the end of its last request. */
import { createLimits } from '#src/access/limits.ts'
import { packsOf } from '#src/domain/selling/tier.ts'
import { createExportRecords } from '#src/features/exports/records.ts'
import { makeMeterMemory, openMeters } from '#src/http/meters.ts'
import { compileAsUsual } from '#src/platform/jit.ts'
import type { Job } from '#src/platform/job.ts'
import { createLogBuffer } from '#src/platform/log-buffer.ts'
import { atMost } from '#src/platform/timeout.ts'

import { createActivityLog } from './activity.ts'
import { type AppParts, createApp } from './app.ts'
import { createShop, describeBilling } from './billing.ts'
import { openClock } from './clocks.ts'
import { dispatchByKey } from './dispatch.ts'
import { type CliContext, isKeyless, loadExtensions } from './extension.ts'
import { startForgetting } from './forgetting.ts'
import { type Greet, greetOwner } from './greeting.ts'
import { checkAddresses, listenAlone } from './listen.ts'
import { startMetrics } from './metrics.ts'
import { createNodes } from './nodes.ts'
import { holdDataFolder, isShared } from './open-data-folder.ts'
import { createOperator } from './operator.ts'
import { openPool } from './pool-thread.ts'
import { describeRecording, readRecorderStatus } from './recorder-status.ts'
import type { RecordingJob } from './recording.ts'
import { startRetention } from './retention.ts'
import { fillSample, moveSample } from './sample.ts'
import { backUpBeforeUpgrade, startBackups } from './scheduled-backups.ts'
import { createScreening, signupStateOf } from './screening.ts'
import { asService } from './service-lines.ts'
import { watchSilences } from './silences.ts'
import { faultsOf, ledgerCopyOf, openStores, patiently, watchCopies } from './stores.ts'
import { startStream } from './streams.ts'
import { createTestMode } from './test-server.ts'
import { startTradeCheck } from './trade-chain.ts'
import { startUsageFlush } from './usage-flush.ts'

type Greeting = {
  greet?: Greet
  /** The longest wait for the first check of chains and facilitator before the greeting. */
  checkMsMax?: number
}

/** Serves until a signal. */
export async function serve(
  real: CliContext,
  { greet = greetOwner, checkMsMax = 3000 }: Greeting = {},
): Promise<void> {
  using service = asService(real)
  const config = service.config()
  await checkAddresses(config, service)
  using _server = holdDataFolder(service, 'server')
  using _recorder = config.isRecording ? holdDataFolder(service, 'recorder') : undefined
  await backUpBeforeUpgrade(service)

  const timer = () => performance.now()
  await using stores = await openStores(service, timer)
  const { history, ledger, copies, replicas } = stores
  await using clocks = await openClock(service, ledger, timer)
  const clock = clocks.now
  const context = { ...service, clock }
  const extensions = await loadExtensions(context.extensions)
  const hasSample = config.hasSample && !isShared(context, 'history')
  if (hasSample) await fillSample(context, history, extensions)

  // Threads that answer beside this one share its limits and meters.
  const threads =
    config.workers === 0 ? undefined : (await import('./threads/threads.ts')).openThreads(context)
  const limits = createLimits(config.streamsMax, threads?.store)
  const meterMemory = makeMeterMemory((threads?.count ?? 0) + 1)
  const meters = openMeters(meterMemory)

  let recorder: RecordingJob | undefined
  let isStarted = false
  let origin = config.publicUrl
  const log = createLogBuffer(context.writeLog)
  const silences = watchSilences(history, { clock, copies, own: () => recorder?.id })
  const nodes = createNodes(context)
  const screening = createScreening(context, ledger, nodes)
  const signup = () => signupStateOf(config, screening.signup())
  const shop = createShop(
    context,
    ledger,
    { screen: screening.screen, origin: () => origin },
    nodes,
  )
  const activity = createActivityLog({
    clock,
    server: context.createId(),
    meterMemory,
    readRecorder: () => readRecorderStatus(config.dataPath, clock()),
  })
  const operator = createOperator(context, extensions, { activity, silences })

  const pool = openPool(history)
  const exports = createExportRecords(clock)
  const testExports = createExportRecords(clock)
  const parts: AppParts = {
    history,
    ledger,
    config,
    extensions,
    clock,
    timer,
    createId: context.createId,
    randomBytes: context.randomBytes,
    log: log.write,
    version: context.version,
    silences,
    ledgerCopy: replicas && ledgerCopyOf(context, copies, () => replicas.pull('ledger')),
    limits,
    meters,
    sampleChoice: threads?.sampleChoice,
    pool,
    first: {
      billing: shop.billing,
      screen: screening.screen,
      wallets: screening.wallets,
      signup,
      origin: () => origin,
      recording: () => describeRecording(recorder, { config, clock, silences }),
      faults: () => [...faultsOf(copies), ...clocks.faults()],
      nodes,
      isStarted: () => isStarted,
      operator,
      exports,
      say: context.printError,
    },
  }
  const app = createApp(parts)
  const test = config.hasTestMode
    ? createTestMode(context, { real: parts, limits, exports: testExports })
    : undefined
  const front = dispatchByKey(app, test?.server)
  const listening = { ...front, frequentPaths: app.frequentPaths }
  const server = await (threads?.start({
    context,
    app: listening,
    pool,
    meterMemory,
    limits,
    exports: { real: exports, test: testExports },
    replicas,
    copies,
    timer,
  }) ?? listenAlone(listening, config))
  compileAsUsual()
  // The messages of a sign-in do not support IPv6 addresses.
  origin ||= server.url.origin.replace('[::1]', 'localhost')

  // Jobs end in the reverse order of their starts.
  await using jobs = new AsyncDisposableStack()
  function run<T extends Job | undefined>(job: T): T {
    jobs.defer(() => job?.dispose())
    return job
  }
  const report = operator?.report
  const selling = run(shop.start(report?.reconciliation))
  run(clocks.keepTime())
  run(replicas && watchCopies(copies, context.printError))
  run(test?.start())
  run(startForgetting(context, ledger, report?.forgetting))
  const usageFlush = run(startUsageFlush(front, { timer, say: context.printError }))
  run(activity.start(ledger, app.timedNames))
  const stream = run(startStream(front))
  run(nodes.start())
  run(screening.start(report))
  const metrics = run(
    await startMetrics({
      context,
      app,
      ledger,
      timer,
      copies,
      usageFlush,
      limits,
      meters,
      meterMemory,
    }),
  )
  run(hasSample ? moveSample(context, history) : undefined)
  run(startBackups(context, report?.backup))
  for (const { name, start } of extensions.flatMap((extension) => extension.jobs ?? []))
    run(start(context, operator?.reports.get(name)))
  jobs.use(startRetention(context, history, report?.retention))
  jobs.use(startTradeCheck(context, history))
  if (config.isRecording) {
    const { startRecording } = await import('./recording.ts')
    const onStored = server.wake ?? stream.wake
    recorder = jobs.use(startRecording(context, history, { onStored, clockFault: clocks.fault }))
  }
  isStarted = true

  if (selling !== undefined) await atMost(checkMsMax, selling.checked)
  const lines = await greet(context, {
    url: server.url,
    origin,
    history,
    ledger,
    signup: await patiently(signup),
    payments: describeBilling(shop),
    packs: shop.billing.isOpen && isKeyless(extensions, config) ? packsOf(ledger) : [],
    metrics: metrics?.url,
  })
  for (const line of lines) context.print(line)
  await new Promise<void>((resolve) => context.onStop(resolve))

  // Load balancers have time to find another server before requests are refused.
  app.refuse()
  await Bun.sleep(config.drainSeconds * 1000)
  front.drain()
  await server.stop()
  await pool?.dispose()
  log.flush()
}
