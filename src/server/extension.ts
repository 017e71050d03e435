/**
 * What an extension registers. An extension is a folder, `src/extensions/NAME`, and a line in
 * `src/extensions.ts`; without the two, the rest of the program is complete. The core knows
 * extensions by these types alone. `CliContext` is what all commands run with.
 */

import type { Command } from 'commander'
import type { AnyElysia } from 'elysia'

import type { Limits, LimitStore } from '#src/access/limits.ts'
import type { SampleChoice } from '#src/access/sample.ts'
import type { UsageMeter } from '#src/access/usage-meter.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config/config.ts'
import type { Variables } from '#src/config/variables.ts'
import type { Replicas, StoreLoader, StoreName } from '#src/database/stores.ts'
import type { CursorCodec } from '#src/domain/cursor.ts'
import type { FileDigest } from '#src/domain/manifest.ts'
import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Wallets } from '#src/domain/selling/wallet.ts'
import type { Clock } from '#src/domain/time.ts'
import type { HeldDays } from '#src/features/documentation/routes.ts'
import type { ExportRecords } from '#src/features/exports/records.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { HistoryOptions } from '#src/history/open.ts'
import type { Api, DeclaredRoute } from '#src/http/api.ts'
import type { ChargeWindow } from '#src/http/gate.ts'
import type { Prices } from '#src/http/swagger.ts'
import type { Arrived, PeerSource, Visit } from '#src/http/visit.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Job, JobReport } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'

import type { Finding } from './finding.ts'
import type { Answers } from './listen.ts'

/** What a command may use of the outside world; `main.ts` makes the real one, tests a fake. */
export type CliContext = {
  env: Readonly<Record<string, string | undefined>>
  /** Reads the configuration at first use, so that `--help` works with a broken one. */
  config(): Config
  clock: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits, no prefix. */
  createId: () => string
  /** Returns fresh random bytes, fit for secrets. */
  randomBytes: (length: number) => Uint8Array
  /** Of this program: those of `src/extensions.ts`. */
  extensions: readonly Extension[]
  /** What to type in front of a command's name to run this program, as a shell reads it. */
  invocation: string
  version: string
  /** The file that the process began with: further threads begin with it, too. */
  program: string
  /** Writes one line of the command's result to standard output. */
  print(line: string): void
  /** Writes one line of progress or failure to standard error; a service says how bad it is. */
  printError: Log
  /** Writes lines of the access log, as they are, to standard error. */
  writeLog(lines: string): void
  /** True when standard error is a terminal, so that progress may be redrawn in place. */
  isTty: boolean
  /** Width of the terminal in characters; 80 without a terminal. */
  columns: number
  /**
   * Sets a variable for this process, as if the environment had it: `env` has it, the configuration
   * is read again, and threads that start later see it too. `option` is the option that was given in
   * its place, such as `--data`, which messages then name.
   */
  setVariable(name: string, value: string, option?: string): void
  /**
   * Runs `stop` at the first SIGTERM or SIGINT; a second one, or one without any registration, ends
   * the process at once. Returns what takes the registration back.
   */
  onStop(stop: () => void): () => void
}

/** What a process does that is measured. */
export type Purpose = 'record' | 'serve'

/** What an extension adds to `/metrics`: families in the exposition format, at each scrape. */
export type MetricsSource = {
  /** Resolves within some seconds, whatever does not answer. */
  print(): Promise<readonly string[]>
  dispose(): void
}

/** The manifest of an extension. It imports what it names when that is used, and not before. */
export type Extension = {
  name: string
  /** Environment variables, which `settingsOf` reads. */
  variables?: Variables
  /** By name; one that the core has too takes its place. */
  commands?: Readonly<Record<string, CommandEntry>>
  /** Calls of its commands, and what they do, for the help of the program. */
  examples?: Readonly<Record<string, string>>
  /** The modules that define its workers, by the name of the worker. */
  workers?: Readonly<Record<string, (context: CliContext) => Promise<unknown>>>
  /** What stores may be in besides files. */
  stores?: StoreLoader
  /** Addresses of stores that the configuration has in place of files; empty for none. */
  places?: (config: Config) => Readonly<Partial<Record<StoreName, string>>>
  /** How a history is opened. */
  historyOptions?: (config: Config) => Pick<HistoryOptions, 'isArchiving' | 'chunkCache'>
  /** Checks of `bookfeed doctor`, by name. */
  checks?: Readonly<Record<string, (context: CliContext) => Promise<Finding[]>>>
  /** Measures what the process depends on; undefined where the configuration has nothing of it. */
  metrics?: (context: CliContext, purpose: Purpose) => Promise<MetricsSource | undefined>
  /** A sentence for each fault of what it keeps in a data folder, for `bookfeed verify`. */
  listFaults?: (dataPath: string) => Promise<Iterable<string>>
  /** Files that it keeps in a data folder, for manifests of their days. */
  listFiles?: (dataPath: string) => Promise<ListFiles>
  /** Loads what it adds to a server. */
  load?: () => Promise<ServerExtension>
}

/** The headings of the help, in its order. */
export const commandGroups = [
  'Serve and record',
  'Markets and books',
  'Copies of the data',
  'Keys, tiers and payments',
  'Buy and try',
  'Help',
] as const

export type CommandEntry = {
  group: (typeof commandGroups)[number]
  load: () => Promise<(context: CliContext) => Command>
  /** Whether a call with these options leaves the data folder in the format that it has. */
  upgradesNothing?: (options: Readonly<Record<string, unknown>>) => boolean
  /** It calls `backUpBeforeUpgrade` when nothing else prevents its start. */
  upgradesItself?: true
}

/** What an extension adds to a server. */
export type ServerExtension = {
  /** Elysia plugins of routes that every serving thread answers: they only read the history. */
  dataRoutes?: (api: Api, services: DataServices) => readonly AnyElysia[]
  /** Routes that the first thread answers. */
  routes?: (api: Api, services: AppServices) => FirstThreadRoutes
  /**
   * Whether callers may pay in place of sending a key: then the first thread answers all requests
   * without one, which have a window of their own.
   */
  sellsWithoutKey?: (config: Config) => boolean
  /** Paths whose route needs no data, or only what it asks for by `fetch`. */
  pathsWithoutData?: readonly string[]
  /** Answers on threads beside the first; undefined where the configuration asks for none. */
  openThreads?: (context: CliContext) => Promise<ServingThreads | undefined>
  jobs?: readonly ExtensionJob[]
  /** Makes, once, what it keeps of days that are over, for the sample of a first start. */
  makeDays?: (history: MarketHistory, day: SampleDay) => Promise<void>
  /** What examples of the API document name, as far as it is held. */
  findExamples?: (services: DataServices) => HeldDays
}

export type FirstThreadRoutes = {
  plugins: readonly AnyElysia[]
  /** Surrounds every route of the app. */
  around?: Around | undefined
  /** What the API document says of the prices of routes. */
  prices?: Prices | undefined
}

export type Handle = (arrived: Arrived) => Response | Promise<Response>
export type Around = (arrived: Arrived, next: Handle) => Response | Promise<Response>

export type ServingThreads = {
  /** How many there are. */
  count: number
  /** Counts limits over all of them and the first. */
  store: LimitStore
  /** The market of the sample, which all of them choose together. */
  sampleChoice: SampleChoice
  /** Starts them; resolves when all of them listen. Throws a `command` fault. */
  start(options: ThreadsOptions): Promise<ListeningServer>
}

/** Counters that are not in a ledger yet. */
export type Usage = Record<'real' | 'test', ReturnType<UsageMeter['take']>>

export type ThreadsOptions = {
  /** With the clock of the server. */
  context: CliContext
  /** What the first thread answers for the others. */
  app: Answers & { putUsage(taken: Usage): void }
  meterMemory: SharedArrayBuffer
  limits: Pick<Limits, 'clear'>
  /** What becomes of the exports that threads send: those of callers, and of test keys. */
  exports: Record<'real' | 'test', ExportRecords>
  /** Of stores at addresses. */
  replicas: Replicas | undefined
  timer: Clock
}

export type ListeningServer = {
  url: URL
  /** To be called after commits: other threads look at once. */
  wake: (() => void) | undefined
  /** Resolves when nothing of it uses the stores any more. */
  stop(): Promise<void>
}

/** Which files of a day there are, and when the newest was made. */
export type ListFiles = (day: string) => { files: FileDigest[]; madeMs: number }

export type SampleDay = {
  dataPath: string
  nowMs: number
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  listFiles: ListFiles
}

/** What each thread has that answers requests for data. */
export type DataServices = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
  config: Config
  listTiers: () => readonly Tier[]
}

/** What the first thread has besides. */
export type AppServices = DataServices & {
  /** The routes for data that are in the API document. */
  dataRoutes: () => readonly DeclaredRoute[]
  /** Answers a request of our own as one that came by itself, through the front door. */
  fetch: (request: Request, peers: PeerSource) => Response | Promise<Response>
  ledger: Ledger
  billing: Billing
  wallets: Wallets
  randomBytes: (length: number) => Uint8Array
  /** Whether callers may pay in place of sending a key. */
  sellsWithoutKey: boolean
  /** Takes one from the window of a caller that is found after the visit began. */
  chargeWindow: ChargeWindow
  /** Takes one from the window of the caller. Rejects with `rate_limited`. */
  charge: (request: Request, visit: Visit) => void
  /** Where callers reach the server. Asked at requests, not before. */
  origin: () => string
  version: string
}

/** A job of a server, as the operator sees it. */
export type ExtensionJob = {
  name: string
  /** What it does, in one sentence. */
  about: string
  /** Undefined where the configuration asks for none. */
  start(context: CliContext, report: JobReport | undefined): Job | undefined
}

/** How a history is opened, as extensions say. */
export const historyOptionsOf = (
  config: Config,
  extensions: readonly Extension[],
): Pick<HistoryOptions, 'isArchiving' | 'chunkCache'> =>
  Object.assign({}, ...extensions.map(({ historyOptions }) => historyOptions?.(config)))

/** Files of days that extensions keep in a data folder. */
export async function listFilesIn(
  dataPath: string,
  extensions: readonly Extension[],
): Promise<ListFiles> {
  const lists: ListFiles[] = []
  for (const { listFiles } of extensions) if (listFiles) lists.push(await listFiles(dataPath))
  return (day) => {
    const found = lists.map((list) => list(day))
    return {
      files: found.flatMap(({ files }) => files),
      madeMs: Math.max(0, ...found.map(({ madeMs }) => madeMs)),
    }
  }
}

/** Yields a sentence for each fault of what extensions keep in a data folder. */
export async function listFaultsIn(
  dataPath: string,
  extensions: readonly Extension[],
): Promise<Iterable<string>[]> {
  const lists: Iterable<string>[] = []
  for (const { listFaults } of extensions) if (listFaults) lists.push(await listFaults(dataPath))
  return lists
}

export const variablesOf = (extensions: readonly Extension[]): readonly Variables[] =>
  extensions.flatMap(({ variables }) => (variables === undefined ? [] : [variables]))

export const loadExtensions = (
  extensions: readonly Extension[],
): Promise<readonly ServerExtension[]> => Promise.all(extensions.map(({ load }) => load?.() ?? {}))
