/**
 * The interface of extensions. An extension is a folder, `src/extensions/NAME`, and a line in
 * `src/extensions.ts`; without the two, the rest of the program is complete. The core knows
 * extensions only by these types. `CliContext` is the context of every command.
 */

import type { Command } from 'commander'
import type { AnyElysia } from 'elysia'

import type { Links } from '#src/access/links.ts'
import type { Billing } from '#src/billing/billing.ts'
import type { Config } from '#src/config/config.ts'
import type { Variables } from '#src/config/variables.ts'
import type { StoreLoader, StoreName } from '#src/database/stores.ts'
import type { CursorCodec } from '#src/domain/cursor.ts'
import type { FileDigest } from '#src/domain/manifest.ts'
import type { Coin, Timeframe } from '#src/domain/market.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Wallets } from '#src/domain/selling/wallet.ts'
import type { Clock } from '#src/domain/time.ts'
import type { HeldDays } from '#src/features/documentation/routes.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { HistoryOptions } from '#src/history/open.ts'
import type { Api, DeclaredRoute } from '#src/http/api.ts'
import type { PeerSource } from '#src/http/call.ts'
import type { Promises, PromisesOptions } from '#src/http/promises.ts'
import type { ChargeWindow } from '#src/http/rights.ts'
import type { Prices } from '#src/http/swagger.ts'
import type { AnyTask, Tasks } from '#src/http/tasks.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Job, JobReport } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'

/** The outside world of a command: `main.ts` creates the real one, tests a fake. */
export type CliContext = {
  env: Readonly<Record<string, string | undefined>>
  /** Reads the configuration at first use, so that `--help` works with a broken one. */
  config(): Config
  clock: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits, no prefix. */
  createId: () => string
  /** Returns fresh random bytes, fit for secrets. */
  randomBytes: (length: number) => Uint8Array
  /** The extensions of this program, from `src/extensions.ts`. */
  extensions: readonly Extension[]
  /** The words before a command's name that run this program in a shell. */
  invocation: string
  version: string
  /** The file that the process and its threads begin with. */
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
   * Sets an environment variable for this process and for threads that start later; the
   * configuration is read again. `option` is the option that was given in place of the variable,
   * such as `--data`; messages name it.
   */
  setVariable(name: string, value: string, option?: string): void
  /**
   * Calls `stop` at the first SIGTERM or SIGINT. A second signal, or one without any registration,
   * ends the process at once. The result removes the registration.
   */
  onStop(stop: () => void): () => void
}

/** The work of a process whose metrics are collected. */
export type Purpose = 'record' | 'serve'

/** Metrics of an extension: families in the exposition format, collected at each scrape. */
export type MetricsSource = {
  /** Resolves within seconds, even if a dependency does not answer. */
  print(): Promise<readonly string[]>
  dispose(): void
}

/** Clocks that are compared until `dispose`. */
export type ClockWatch = {
  /** The reason why the clock of this machine cannot be used; undefined if it can. */
  fault(): string | undefined
  dispose(): Promise<void>
}

/** The manifest of an extension. Modules that it names are imported when they are used. */
export type Extension = {
  name: string
  /** Environment variables, which `settingsOf` reads. */
  variables?: Variables
  /** Commands by name; a command replaces the core's command of the same name. */
  commands?: Readonly<Record<string, CommandEntry>>
  /** Calls of its commands with their descriptions, for the help of the program. */
  examples?: Readonly<Record<string, string>>
  /** The modules that define its workers, by the name of the worker. */
  workers?: Readonly<Record<string, (context: CliContext) => Promise<unknown>>>
  /** Places of stores besides files. */
  stores?: StoreLoader
  /** The configured addresses of stores; empty for a file. */
  places?: (config: Config) => Readonly<Partial<Record<StoreName, string>>>
  /** Options with which histories are opened. */
  historyOptions?: (config: Config) => Pick<HistoryOptions, 'isArchiving' | 'chunkCache'>
  /** Checks of `bookfeed doctor`, by name. */
  checks?: Readonly<Record<string, (context: CliContext) => Promise<Finding[]>>>
  /** Metrics of a dependency of the process; undefined if it is not configured. */
  metrics?: (context: CliContext, purpose: Purpose) => Promise<MetricsSource | undefined>
  /** Compares the clock of this machine with that of a dependency; undefined without any. */
  watchClock?: (context: CliContext) => Promise<ClockWatch | undefined>
  /** Yields a sentence for each fault of its files in a data folder, for `bookfeed verify`. */
  listFaults?: (dataPath: string) => Promise<Iterable<string>>
  /** Lists its files in a data folder, for the manifests of their days. */
  listFiles?: (dataPath: string) => Promise<ListFiles>
  /** Tasks that run on threads of the pool. */
  tasks?: () => Promise<readonly AnyTask[]>
  /** Loads its part of a server. */
  load?: () => Promise<ServerExtension>
}

/** A finding of `bookfeed doctor`. */
export type Finding = {
  check: string
  /**
   * `wrong` makes the command fail; `skipped` is a check that does not apply, or that nothing is
   * known about at present.
   */
  state: 'ok' | 'skipped' | 'warning' | 'wrong'
  text: string
  /** The advice to the operator. */
  todo?: string | undefined
}

/** Makes the findings of one check; the last argument is the advice. */
export const finder =
  (check: string) =>
  (state: Finding['state'], text: string, todo?: string): Finding => ({ check, state, text, todo })

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
  /** True if a call with these options does not change the format of the data folder. */
  upgradesNothing?: (options: Readonly<Record<string, unknown>>) => boolean
  /** The command calls `backUpBeforeUpgrade` itself, after its own checks. */
  upgradesItself?: true
}

/** The part of a server that an extension adds. */
export type ServerExtension = {
  /** Plugins of routes that every thread answers; they only read the history. */
  dataRoutes?: (api: Api, services: DataServices) => readonly AnyElysia[]
  /** Routes that only the first thread answers. */
  routes?: (api: Api, services: AppServices) => FirstThreadRoutes
  /**
   * True if callers may pay in place of sending a key. Then the first thread answers all requests
   * without a key, which have a rate window of their own.
   */
  sellsWithoutKey?: (config: Config) => boolean
  /** Paths whose routes need no data, or get it only by `fetch`. */
  pathsWithoutData?: readonly string[]
  jobs?: readonly ExtensionJob[]
  /** Makes its files of past days once, for the sample of a first start. */
  makeDays?: (history: MarketHistory, day: SampleDay) => Promise<void>
  /** Days that examples of the API document may name. */
  findExamples?: (services: DataServices) => HeldDays
}

export type FirstThreadRoutes = {
  plugins: readonly AnyElysia[]
  /** Hooks of all requests, which run once their calls are known. */
  hooks?: AnyElysia | undefined
  /** Sells the response to a request that failed for lack of a payment. */
  answerUnpaid?: PromisesOptions['answerUnpaid']
  /** The prices of routes in the API document. */
  prices?: Prices | undefined
}

/** Lists the files of a day, with the time of the newest. */
export type ListFiles = (day: string) => { files: FileDigest[]; madeMs: number }

export type SampleDay = {
  dataPath: string
  nowMs: number
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  listFiles: ListFiles
}

/** The services of each thread that answers requests for data. */
export type DataServices = {
  history: MarketHistory
  tasks: Tasks
  cursors: CursorCodec
  clock: Clock
  config: Config
  listTiers: () => readonly Tier[]
  links: Links
}

/** The services of the first thread. */
export type AppServices = DataServices & {
  /** The routes for data in the API document. */
  dataRoutes: () => readonly DeclaredRoute[]
  /** Answers a request of our own as one that came by itself. */
  fetch: (request: Request, peers: PeerSource) => Response | Promise<Response>
  /** Sends a request through the routes again, as another caller or as a rehearsal. */
  fetchAgain: Promises['fetchAgain']
  ledger: Ledger
  billing: Billing
  wallets: Wallets
  randomBytes: (length: number) => Uint8Array
  /** True if callers may pay in place of sending a key. */
  sellsWithoutKey: boolean
  /** Takes one from the window of a caller that is found after the request arrived. */
  chargeWindow: ChargeWindow
  /** Takes one from the window of the caller. Rejects with `rate_limited`. */
  charge: (request: Request) => void
  /** The address at which callers reach the server; known when the server listens. */
  origin: () => string
  version: string
}

/** A job of a server, as the operator sees it. */
export type ExtensionJob = {
  name: string
  /** The description in one sentence. */
  about: string
  /** Undefined if the job is not configured. */
  start(context: CliContext, report: JobReport | undefined): Job | undefined
}

/** The options of extensions with which a history is opened. */
export const historyOptionsOf = (
  config: Config,
  extensions: readonly Extension[],
): Pick<HistoryOptions, 'isArchiving' | 'chunkCache'> =>
  Object.assign({}, ...extensions.map(({ historyOptions }) => historyOptions?.(config)))

/** Lists the files of days that extensions keep in a data folder. */
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

/** Lists the faults of files that extensions keep in a data folder. */
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

/** True if callers may pay in place of sending a key. */
export const isKeyless = (extensions: readonly ServerExtension[], config: Config): boolean =>
  extensions.some(({ sellsWithoutKey }) => sellsWithoutKey?.(config) === true)

export const loadExtensions = (
  extensions: readonly Extension[],
): Promise<readonly ServerExtension[]> => Promise.all(extensions.map(({ load }) => load?.() ?? {}))
