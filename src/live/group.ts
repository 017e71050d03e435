/**
 * Subscribers in step share what is read and encoded once. One that takes no more, or is elsewhere,
 * has a group of its own, and joins the others again when it is where they are.
 */

/** Items that are handed on between two looks at the clock. */
const ITEMS_A_LOOK = 32

/** What a group follows: a feed, and how what comes is encoded. */
export type Source<Item, Self> = {
  /** Reads and encodes some of what is new; nothing where it waits. */
  next(): Item[]
  /** Whether the last read left something that is there already. */
  readonly hasMore: boolean
  /** Names all that decides what comes next: sources of a key with the same name are in step. */
  readonly step: string
  /** Another source in the same step. */
  fork(): Self
  /** Called when the last subscriber has left. */
  stop(): void
}

export type Subscriber<Item, From> = {
  /** Returns whether the item was taken at once; else it waits. */
  push(item: Item): boolean
  /** Whether so much waits that nothing more is to be read. */
  readonly isFull: boolean
  /** Follows another source in the same step from now on. */
  move(from: From, to: From): void
  /** Why what is new cannot be read. */
  fail(error: unknown): void
}

export type FanoutGroup<Item, From> = {
  readonly source: From
  readonly subscribers: Set<Subscriber<Item, From>>
  /** Those for whom items may wait. */
  readonly late: Set<Subscriber<Item, From>>
  readonly key: string
  /** All groups with the key. */
  readonly peers: Set<FanoutGroup<Item, From>>
  /** What was read, and who does not have it yet. */
  items: Item[]
  owed: Subscriber<Item, From>[]
}

/** Makes the groups of what follows sources of one kind. */
export function createFanout<Item, From extends Source<Item, From>>() {
  type Group = FanoutGroup<Item, From>
  const groups = new Set<Group>()
  const byKey = new Map<string, Set<Group>>()
  const groupOf = new Map<Subscriber<Item, From>, Group>()
  /** Those that are still to be advanced in this round. */
  let queue: Group[] = []

  function enter(subscriber: Subscriber<Item, From>, group: Group): void {
    group.subscribers.add(subscriber)
    group.late.add(subscriber)
    groupOf.set(subscriber, group)
  }

  /** Puts a subscriber into a group of its own. `key` names what decides the items of a source. */
  function add(key: string, source: From, subscriber: Subscriber<Item, From>): void {
    const peers = byKey.get(key) ?? new Set()
    byKey.set(key, peers)
    const group: Group = {
      source,
      subscribers: new Set(),
      late: new Set(),
      key,
      peers,
      items: [],
      owed: [],
    }
    groups.add(group)
    peers.add(group)
    enter(subscriber, group)
  }

  function drop(group: Group): void {
    group.source.stop()
    groups.delete(group)
    group.peers.delete(group)
    if (group.peers.size === 0) byKey.delete(group.key)
  }

  function give({ items, late }: Group, subscriber: Subscriber<Item, From>): void {
    for (let index = 0; index < items.length; index++)
      if (!subscriber.push(items[index] as Item)) late.add(subscriber)
  }

  /** Takes one from those that are owed what was read; returns whether it was. */
  function forgive({ owed }: Group, subscriber: Subscriber<Item, From>): boolean {
    const at = owed.indexOf(subscriber)
    if (at >= 0) owed.splice(at, 1)
    return at >= 0
  }

  /** Gives one all that was read; returns the source that it follows. */
  function settle(subscriber: Subscriber<Item, From>): From | undefined {
    const group = groupOf.get(subscriber)
    if (group === undefined) return undefined
    if (forgive(group, subscriber)) give(group, subscriber)
    return group.source
  }

  /** Gives one a group of its own, with all that was read; returns its source. */
  function separate(subscriber: Subscriber<Item, From>): From | undefined {
    const source = settle(subscriber)
    const group = groupOf.get(subscriber)
    if (source === undefined || group === undefined || group.subscribers.size === 1) return source
    group.subscribers.delete(subscriber)
    group.late.delete(subscriber)
    const own = source.fork()
    add(group.key, own, subscriber)
    return own
  }

  /** The group closes when its last subscriber leaves. */
  function leave(subscriber: Subscriber<Item, From>): void {
    const group = groupOf.get(subscriber)
    if (group === undefined) return
    groupOf.delete(subscriber)
    group.subscribers.delete(subscriber)
    forgive(group, subscriber)
    if (group.subscribers.size === 0) drop(group)
  }

  /** Reads on for subscribers that have room; returns false if none has. */
  function read(group: Group): boolean {
    const full: Subscriber<Item, From>[] = []
    for (const subscriber of group.late) {
      if (subscriber.isFull && group.subscribers.has(subscriber)) full.push(subscriber)
      else group.late.delete(subscriber)
    }
    if (full.length === group.subscribers.size) return false
    for (const subscriber of full) separate(subscriber)
    try {
      group.items = group.source.next()
    } catch (error) {
      for (const subscriber of [...group.subscribers]) subscriber.fail(error)
      return false
    }
    if (group.items.length > 0) group.owed = [...group.subscribers].reverse()
    return true
  }

  function handOn(group: Group, isOver: () => boolean): void {
    const { owed, items } = group
    let given = 0
    for (let subscriber = owed.pop(); subscriber; subscriber = owed.pop()) {
      give(group, subscriber)
      given += items.length
      if (given < ITEMS_A_LOOK) continue
      given = 0
      if (isOver()) break
    }
    if (owed.length === 0) group.items = []
  }

  /** Returns whether there may be more to read at once. */
  function advance(group: Group, isOver: () => boolean): boolean {
    if (group.owed.length === 0 && !read(group)) return false
    if (group.owed.length > 0) handOn(group, isOver)
    return group.source.hasMore
  }

  /** Joins those that are in step. */
  function merge(some: readonly Group[]): void {
    const firsts = new Map<string, Group>()
    for (const group of some) {
      if (group.peers.size < 2 || group.owed.length > 0 || !groups.has(group)) continue
      const name = `${group.key} ${group.source.step}`
      const first = firsts.get(name)
      if (first === undefined) firsts.set(name, group)
      if (first === undefined || first === group) continue
      for (const subscriber of group.subscribers) {
        subscriber.move(group.source, first.source)
        enter(subscriber, first)
      }
      drop(group)
    }
  }

  return {
    add,
    leave,
    settle,
    separate,

    get counts() {
      return { groups: groups.size, subscribers: groupOf.size }
    },

    /**
     * Hands on what is new until `isOver`; the next call goes on where it stopped. Returns whether
     * something is left to be handed on.
     */
    tick(isOver: () => boolean): boolean {
      if (queue.length === 0) queue = [...groups]
      const advanced: Group[] = []
      for (let group = queue.pop(); group; group = queue.pop()) {
        if (!groups.has(group)) continue
        const hasMore = advance(group, isOver)
        advanced.push(group)
        // What was read comes first for those that do not have it; more of it waits its turn.
        if (group.owed.length > 0) queue.push(group)
        else if (hasMore) queue.unshift(group)
        if (isOver()) break
      }
      merge(advanced)
      return queue.length > 0
    },
  }
}

export type Fanout<Item, From extends Source<Item, From>> = ReturnType<
  typeof createFanout<Item, From>
>
