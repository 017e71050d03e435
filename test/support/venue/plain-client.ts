/** A client of the market socket written from the venue's documents, independent of our code. */
import { createHash } from 'node:crypto'

type Level = { price: string; size: string }
type Entry = Level & {
  asset_id: string
  side: string
  hash: string
  best_bid: string
  best_ask: string
}
/** The members of any message, by its type. */
export type Message = {
  event_type: string
  market: string
  asset_id: string
  timestamp: string
  hash: string
  bids: Level[]
  asks: Level[]
  tick_size: string
  last_trade_price: string
  price: string
  price_changes?: Entry[]
  changes?: (Level & { side: string })[]
  old_tick_size: string
  new_tick_size: string
  slug: string
  winning_asset_id: string
  version?: string
}

export type PlainClient = Awaited<ReturnType<typeof connect>>

/** Resolves when the connection is open or has failed. */
export async function connect(url: string, first?: object) {
  const socket = new WebSocket(url)
  const texts: string[] = []
  const closes: number[] = []
  socket.onmessage = ({ data }) => void texts.push(String(data))
  socket.onclose = ({ code }) => void closes.push(code)
  await new Promise((resolve) => {
    socket.onopen = resolve
    socket.onerror = resolve
  })
  const send = (message: object): void => socket.send(JSON.stringify(message))
  if (first !== undefined) send(first)
  return {
    socket,
    texts,
    /** Codes with which it was closed. */
    closes,
    send,
    /** The received messages, with arrays split. */
    messages: () => texts.flatMap(readMessages),
    [Symbol.dispose]: () => socket.close(),
  }
}

function readMessages(text: string): Message[] {
  if (!/^[[{].*[\]}]\n?$/.test(text)) return []
  const value = JSON.parse(text) as Message | Message[]
  return Array.isArray(value) ? value : [value]
}

type Terms = Pick<Message, 'tick_size' | 'last_trade_price' | 'version'>
type Book = Pick<Message, 'market' | 'asset_id' | 'timestamp' | 'bids' | 'asks'>

/** The hash of a book by the recipe of the venue's REST responses. */
export const bookHash = (book: Book, { tick_size, last_trade_price, version }: Terms): string =>
  createHash('sha1')
    .update(
      JSON.stringify({
        market: book.market.padEnd(66, '0'),
        asset_id: book.asset_id,
        timestamp: book.timestamp,
        hash: '',
        bids: book.bids,
        asks: book.asks,
        min_order_size: '5',
        tick_size,
        neg_risk: false,
        last_trade_price,
        version,
      }),
    )
    .digest('hex')

export type Replayed = {
  /** Hashes that the rebuilt book does not match, and tops that differ from the named ones. */
  wrong: string[]
  /** The number of compared hashes. */
  checked: number
  books: ReadonlyMap<string, Book>
}

/** Rebuilds books from messages only; a hash is compared when a later millisecond arrives. */
export function replay(messages: readonly Message[]): Replayed {
  const books = new Map<string, Book>()
  const terms = new Map<string, Terms>()
  const pending = new Map<string, string>()
  const wrong: string[] = []
  let checked = 0
  let at = ''

  function settle(): void {
    for (const [assetId, hash] of pending) {
      const book = books.get(assetId)
      const known = terms.get(book?.market ?? '')
      checked++
      if (book === undefined || known === undefined || bookHash(book, known) !== hash)
        wrong.push(hash)
    }
    pending.clear()
  }
  function takeTerms({ event_type, market, ...message }: Message): void {
    const before = terms.get(market)
    if (event_type === 'book') terms.set(market, message)
    if (before === undefined) return
    const { new_tick_size: tick_size, price: last_trade_price } = message
    if (event_type === 'tick_size_change') terms.set(market, { ...before, tick_size })
    if (event_type === 'last_trade_price') terms.set(market, { ...before, last_trade_price })
  }
  function take(entry: Entry, timestamp: string): void {
    const book = books.get(entry.asset_id)
    if (book === undefined) return
    const changed = changedBook({ ...book, timestamp }, entry)
    if (!hasTop(changed, entry)) wrong.push(`${entry.best_bid} ${entry.best_ask}`)
    books.set(entry.asset_id, changed)
    pending.set(entry.asset_id, entry.hash)
  }
  for (const message of messages) {
    // A message without a market has no time either.
    if (message.event_type !== 'book' && !terms.has(message.market)) continue
    if (message.timestamp !== at) settle()
    at = message.timestamp
    takeTerms(message)
    if (message.event_type === 'book') {
      books.set(message.asset_id, message)
      pending.set(message.asset_id, message.hash)
    }
    for (const entry of message.price_changes ?? []) take(entry, message.timestamp)
  }
  return { wrong, checked, books }
}

function changedBook(book: Book, { side: word, price, size }: Entry): Book {
  const [side, sign] = word === 'BUY' ? (['bids', 1] as const) : (['asks', -1] as const)
  const levels = book[side].filter((level) => level.price !== price)
  const at = levels.findLastIndex((level) => sign * (Number(level.price) - Number(price)) < 0)
  if (size !== '0') levels.splice(at + 1, 0, { price, size })
  return { ...book, [side]: levels }
}

const hasTop = ({ bids, asks }: Book, { best_bid, best_ask }: Entry): boolean =>
  (bids.at(-1)?.price ?? '0') === best_bid && (asks.at(-1)?.price ?? '1') === best_ask
