import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A moment in a conversation: the first message that contains a text, after `skip` matches. */
export type Moment = { text: string; skip?: number; side?: 'question' | 'answer' }

/**
 * A gate in front of a local server that passes on every byte until it must hold. Held messages
 * outlive the process that sent them: they are passed on when the gate opens.
 */
export type Gate = {
  url: string
  /**
   * Holds a request, or its response with everything after it; resolves when the request is there.
   */
  hold(moment: Moment): Promise<void>
  /** Passes on everything held, and stops holding. */
  open(): void
  /** Called with each request before it is passed on. */
  onQuestion(listen: (text: string) => Promise<void>): void
  stop(): Promise<void>
}

type Hold = Required<Moment> & { reached: () => void; opened: Promise<void>; open: () => void }

export async function startGate(target: string): Promise<Gate> {
  const sockets = new Set<Socket>()
  let holding: Hold | undefined
  let listen: (text: string) => Promise<void> = async () => {}

  /** The hold that applies to a request, if any. */
  function findHold(text: string): Hold | undefined {
    if (!holding || !text.includes(holding.text)) return undefined
    holding.skip -= 1
    if (holding.skip >= 0) return undefined
    holding.reached()
    return holding
  }

  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    let questions = Promise.resolve()
    let answers = Promise.resolve()
    const ask = async (bytes: string | Uint8Array) => {
      const text = Buffer.from(bytes).toString('latin1').toLowerCase()
      await listen(text)
      const hold = findHold(text)
      if (hold?.side === 'answer') answers = answers.then(() => hold.opened)
      if (hold?.side === 'question') await hold.opened
      upstream.write(bytes)
    }
    client.on('data', (bytes) => {
      questions = questions.then(() => ask(bytes))
    })
    upstream.on('data', (bytes) => {
      answers = answers.then(() => void client.write(bytes))
    })
    client.on('close', () => {
      questions = questions.then(() => void upstream.end())
    })
    upstream.on('close', () => {
      answers = answers.then(() => void client.destroy())
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const open = () => {
    holding?.open()
    holding = undefined
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold({ text, skip = 0, side = 'question' }) {
      open()
      const reached = Promise.withResolvers<void>()
      const opened = Promise.withResolvers<void>()
      const ends = { reached: reached.resolve, opened: opened.promise, open: opened.resolve }
      holding = { text: text.toLowerCase(), skip, side, ...ends }
      return reached.promise
    },
    open,
    onQuestion: (next) => {
      listen = next
    },
    async stop() {
      open()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
