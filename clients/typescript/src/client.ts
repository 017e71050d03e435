import type { components } from './api.ts'
import { BookfeedError } from './errors.ts'
import { pay, type Payer, type Payment, type PayOptions, type SignIn, signUp } from './pay.ts'
import { type Call, type Options, Requester, sentMembers } from './request.ts'
import type {
  AnswersWith,
  Body,
  BodyWith,
  Input,
  JsonOf,
  ListInput,
  Path,
  Post,
  Row,
  RowWith,
} from './shapes.ts'
import {
  type Channel,
  type LiveQuery,
  liveStream,
  type Message,
  type ReplayQuery,
  replayStream,
} from './stream.ts'
import { type Page, Walk } from './walk.ts'

const MARKET = '/v1/{coin}/markets/{conditionId}' as const
type Market = typeof MARKET
type Messages<N, C extends Channel> = AsyncGenerator<Message<N, C>, void, void>
type Signal = { signal?: AbortSignal | undefined }
type Asof = Post<'/v1/{coin}/snapshots/at'>
type Names = string | readonly string[] | undefined
type Moments = Asof extends { requestBody: { content: { 'application/json': infer B } } }
  ? B
  : never
type ExportQuery = Input<'/v1/{coin}/export'> | Input<`${Market}/export`>
type MomentsInput = Omit<Moments, 'requests'> & {
  coin: string
  requests: readonly Moments['requests'][number][]
}

/** A download in progress. */
export type Download = { exportId: string; body: ReadableStream<Uint8Array>; headers: Headers }

/**
 * Client of a Bookfeed server. A method takes the path and query parameters of its route as members
 * of one object, with the names in the API documentation, and `signal`. Failures are thrown as
 * `BookfeedError`.
 */
export class Bookfeed<N = number> {
  readonly requester: Requester

  constructor(options: Options<N>) {
    this.requester = new Requester(options)
  }

  /** Requests any route that answers `GET` with JSON. */
  async get<P extends Path>(path: P, input: Input<P> & Signal): Promise<Body<P, N>> {
    return (await this.requester.json(callOf(path, input))).body as Body<P, N>
  }

  /** Walks any list: the rows of all pages, following `nextCursor`. */
  walk<P extends Path>(path: P, input: ListInput<P> & Signal): Walk<Row<P, N>> {
    return this.#walk(path, input)
  }

  #walk<R>(path: string, input: { cursor?: string | null | undefined } & Signal): Walk<R> {
    const { cursor, ...query } = input
    const read = async (turn: object): Promise<Page<R>> => {
      const { body, headers } = await this.requester.json(callOf(path, { ...query, ...turn }))
      const { data, nextCursor = null } = body as Page<R>
      const resumeCursor = headers.get('x-resume-cursor')
      return { data, nextCursor, resumeCursor, coverage: headers.get('x-coverage') }
    }
    const unitOf = path === '/v1/{coin}/panel' ? marketOf : undefined
    return new Walk({ read, cursor, unitOf })
  }

  /** Markets of a coin, newest window first. */
  markets(input: ListInput<'/v1/{coin}/markets'> & Signal): Walk<Row<'/v1/{coin}/markets', N>> {
    return this.walk('/v1/{coin}/markets', input)
  }

  /** A market by its condition id, slug or asset id. */
  async market(input: Input<Market> & Signal): Promise<Body<Market, N>> {
    return await this.get(MARKET, input)
  }

  /** Books of a market, one row per state. With `fields`, rows have only those members. */
  snapshots<F extends Names = undefined>(
    input: ListInput<`${Market}/snapshots`> & { fields?: F | undefined } & Signal,
  ): Walk<RowWith<F, Row<`${Market}/snapshots`, N>>> {
    return this.#walk(`${MARKET}/snapshots`, input)
  }

  /** Books of a market as the levels that changed, which a `Book` applies. */
  changes(input: ListInput<`${Market}/changes`> & Signal): Walk<Row<`${Market}/changes`, N>> {
    return this.walk(`${MARKET}/changes`, input)
  }

  /**
   * Top of the book of a market: all changes, or with `interval` the prevailing one at each step.
   */
  quotes<F extends Names = undefined>(
    input: ListInput<`${Market}/quotes`> & { fields?: F | undefined } & Signal,
  ): Walk<RowWith<F, Row<`${Market}/quotes`, N>>> {
    return this.#walk(`${MARKET}/quotes`, input)
  }

  /** Mid prices and last trades of a market, or with `interval` bars. */
  prices(input: ListInput<`${Market}/prices`> & Signal): Walk<Row<`${Market}/prices`, N>> {
    return this.walk(`${MARKET}/prices`, input)
  }

  trades(input: ListInput<`${Market}/trades`> & Signal): Walk<Row<`${Market}/trades`, N>> {
    return this.walk(`${MARKET}/trades`, input)
  }

  /** Prices of the coin itself. */
  spot(input: ListInput<'/v1/{coin}/spot'> & Signal): Walk<Row<'/v1/{coin}/spot', N>> {
    return this.walk('/v1/{coin}/spot', input)
  }

  /** The prices by which a market was settled, and whether they lead to its result. */
  async settlement(
    input: Input<`${Market}/settlement`> & Signal,
  ): Promise<Body<`${Market}/settlement`, N>> {
    return await this.get(`${MARKET}/settlement`, input)
  }

  /** The same of every window of a coin that is over, newest first. */
  settlements(
    input: ListInput<'/v1/{coin}/settlements'> & Signal,
  ): Walk<Row<'/v1/{coin}/settlements', N>> {
    return this.walk('/v1/{coin}/settlements', input)
  }

  /** What each day of a coin is worth: a word for each kind of data. */
  async days(input: Input<'/v1/{coin}/days'> & Signal): Promise<Body<'/v1/{coin}/days', N>> {
    return await this.get('/v1/{coin}/days', input)
  }

  /** List outages of recorder and venue, newest first; needs no key. */
  async incidents(input: Input<'/v1/incidents'> & Signal = {}): Promise<Body<'/v1/incidents', N>> {
    return await this.get('/v1/incidents', input)
  }

  /** One row per market and offset before its end, with the winner. */
  panel(input: ListInput<'/v1/{coin}/panel'> & Signal): Walk<Row<'/v1/{coin}/panel', N>> {
    return this.walk('/v1/{coin}/panel', input)
  }

  /** Your receipts, newest first. */
  payments(
    input: ListInput<'/v1/billing/payments'> & Signal = {},
  ): Walk<Row<'/v1/billing/payments', N>> {
    return this.walk('/v1/billing/payments', input)
  }

  /** The book as of a time, never later. Fails with `no_snapshot` or `stale`. */
  async bookAt<F extends Names = undefined>(
    input: Input<`${Market}/snapshots/at`> & { fields?: F | undefined } & Signal,
  ): Promise<BodyWith<F, Body<`${Market}/snapshots/at`, N>>> {
    const { body } = await this.requester.json(callOf(`${MARKET}/snapshots/at`, input))
    return body as BodyWith<F, Body<`${Market}/snapshots/at`, N>>
  }

  /** Books as of up to 500 times, in the given order, each with its own error. */
  async booksAt<F extends Moments['fields'] = undefined>(
    input: MomentsInput & { fields?: F } & Signal,
  ): Promise<AnswersWith<F, JsonOf<Asof, N>>> {
    const { coin, signal, requests, ...options } = input
    const body = { requests: requests.map(sentMembers), ...sentMembers(options) }
    const call = { path: '/v1/{coin}/snapshots/at', method: 'POST', input: { coin }, body, signal }
    return (await this.requester.json(call)).body as AnswersWith<F, JsonOf<Asof, N>>
  }

  /**
   * Follows new rows, starting with the last ones or after `from`. Reconnects automatically and
   * resumes at its cursor: no row is missing or repeated. For one market it ends with
   * `market_resolved`. Leave the loop, or abort, to end it.
   */
  live<C extends Channel>(query: LiveQuery<C> & Signal): Messages<N, C> {
    return liveStream(this.requester, query) as AsyncGenerator<unknown> as Messages<N, C>
  }

  /** Replays recorded rows as the same messages, in order of time; ends after the last one. */
  replay<C extends Channel>(
    query: ReplayQuery<C> & Signal & { with: 'spot' },
  ): Messages<N, C | 'spot'>
  replay<C extends Channel>(query: ReplayQuery<C> & Signal): Messages<N, C>
  replay(query: ReplayQuery & Signal): Messages<N, Channel> {
    return replayStream(this.requester, query) as AsyncGenerator<unknown> as Messages<N, Channel>
  }

  /**
   * Streams a market (`conditionId`), or a coin and `day`. A stream that ends without an error is
   * complete. Use `saveExport` to write a file and verify its digest.
   */
  async export(input: ExportQuery & Signal): Promise<Download> {
    const path = 'conditionId' in input ? `${MARKET}/export` : '/v1/{coin}/export'
    // The digest of a download covers the bytes as sent.
    const headers = { 'accept-encoding': 'identity' }
    return await this.requester.send(
      { ...callOf(path, input), headers },
      ({ body, headers: h }) => {
        const exportId = h.get('x-export-id')
        if (body && exportId !== null) return { exportId, body, headers: h }
        throw new BookfeedError('unexpected_answer', 'The response is not an export.')
      },
    )
  }

  /** Parquet files of whole days, which never change; `saveDays` writes them to disk. */
  files(input: ListInput<'/v1/{coin}/files'> & Signal): Walk<Row<'/v1/{coin}/files', N>> {
    return this.walk('/v1/{coin}/files', input)
  }

  /** The bytes of a file of `files`; `id` is its `name`. */
  async file(input: Input<'/v1/{coin}/files/{id}'> & Signal): Promise<ReadableStream<Uint8Array>> {
    return await this.requester.send(callOf('/v1/{coin}/files/{id}', input), ({ body }) => {
      if (body) return body
      throw new BookfeedError('unexpected_answer', 'The response is not a file.')
    })
  }

  /** The state of an export, with its SHA-256. */
  async findExport(exportId: string): Promise<components['schemas']['Export'] | undefined> {
    const { body } = await this.requester.json({ path: '/v1/exports', isPlain: true })
    const { data } = body as { data: components['schemas']['Export'][] }
    return data.find((each) => each.exportId === exportId)
  }

  /** Signs up with a wallet; returns a key of the Free tier, which is shown only once. */
  async signUp(wallet: SignIn, label?: string): Promise<string> {
    return await signUp(this.requester, wallet, label)
  }

  /** Buys a tier with any x402 client or signer. Never signs twice: see `PayOptions`. */
  async pay(payer: Payer, options: PayOptions): Promise<Payment> {
    return await pay(this.requester, payer, options)
  }
}

const marketOf = (row: unknown): unknown => (row as { conditionId: string }).conditionId

function callOf(path: string, { signal, ...input }: object & Signal): Call {
  return { path, input, signal }
}
