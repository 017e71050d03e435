/**
 * A market, or the markets of a coin, as server-sent events, for environments in which a WebSocket
 * is missing or blocked.
 */
import { BookfeedError } from './errors.ts'
import { isRow, type Line, noWebSocket, type Wire } from './line.ts'
import { type Requester, watchdog } from './request.ts'

const HEARTBEAT_SECONDS = 10

/** A connection that accepts only `subscribe`, and only once. */
export class EventLine implements Line {
  readonly #requester: Requester
  readonly #stop = new AbortController()
  readonly #dog = watchdog(() => this.end())
  #messages: AsyncGenerator<Wire, void, void> | undefined

  constructor(requester: Requester, begin: (line: Line) => void) {
    this.#requester = requester
    begin(this)
  }

  send({ op, id, from: cursor, onSlow: _, encoding: __, ...input }: Wire): void {
    if (input.channel === 'spot' || input.channel === 'markets')
      throw noWebSocket(`Server-sent events have no channel \`${input.channel}\``)
    if (op === 'subscribe') this.#messages = this.#read(id, { ...input, cursor })
  }

  async next(): Promise<Wire | undefined> {
    return (await this.#messages?.next())?.value ?? undefined
  }

  end(): void {
    this.#dog.end()
    this.#stop.abort()
  }

  async *#read(id: unknown, input: Record<string, unknown>): AsyncGenerator<Wire, void, void> {
    const { signal } = this.#stop
    // Rows do not name their market, except books.
    const { channel, conditionId } = input
    const place = conditionId === undefined ? { channel } : { channel, conditionId }
    const path =
      conditionId === undefined ? '/v1/{coin}/live' : '/v1/{coin}/markets/{conditionId}/live'
    const call = { path, input: { ...input, heartbeat: HEARTBEAT_SECONDS }, signal }
    try {
      const { body } = await this.#requester.send(call, (response) => response)
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let text = ''; reader;) {
        const { done, value } = await reader.read()
        if (done) return
        this.#dog.reset()
        const blocks = (text + value).split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) {
          const message = this.#messageOf(block)
          if (message) yield isRow(message) ? { id, ...place, ...message } : { id, ...message }
        }
      }
    } catch (error) {
      if (error instanceof BookfeedError && !error.isPassing) throw error
    }
  }

  #messageOf(block: string): Wire | undefined {
    const lines = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line) ?? [])
    const { event: type, id: cursor, data } = Object.fromEntries(lines.map(([, ...pair]) => pair))
    if (type === undefined || data === undefined) return undefined
    const body = this.#requester.parse(data) as Record<string, unknown>
    if (type === 'gap') return { ...body, type }
    const { conditionId } = body
    const named = conditionId === undefined ? {} : { conditionId }
    return { type, data: body, ...named, ...(cursor === undefined ? {} : { cursor }) }
  }
}
