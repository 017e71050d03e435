/**
 * Subscribers at the same position share items that are read and encoded once. A subscriber that is
 * slow, or at another position, has its own group, and joins the others when it reaches their
 * position.
 */

/** Number of items that are passed on between two checks of the clock. */
const ITEMS_A_LOOK = 32

/** The source of a group: a feed and its encoding. */
export type Source<Item, Self> = {
  /** Reads and encodes some new items; none while it waits. */
  next(): Item[]
  /** True if the last read left items that are already available. */
  readonly hasMore: boolean
  /**
   * Identifies the state of the source: sources of a key with equal steps return the same items.
   */
  readonly step: string
  /** Makes another source in the same step. */
  fork(): Self
  /** Called when the last subscriber has left. */
  stop(): void
}

export type Subscriber<Item, From> = {
  /** Returns true if the item was taken at once; otherwise it is queued. */
  push(item: Item): boolean
  /** True if so many items are queued that no more should be read. */
  readonly isFull: boolean
  /** Follows another source in the same step from now on. */
  move(from: From, to: From): void
  /** Reports the error because of which no new items can be read. */
  fail(error: unknown): void
}

type FanoutGroup<Item, From> = {
  readonly source: From
  readonly subscribers: Set<Subscriber<Item, From>>
  /** Subscribers that may have queued items. */
  readonly late: Set<Subscriber<Item, From>>
  readonly key: string
  /** All groups with the key. */
  readonly peers: Set<FanoutGroup<Item, From>>
  /** The items that were read last. */
  items: Item[]
  /** Subscribers that have not received them yet. */
  owed: Subscriber<Item, From>[]
}

export type Fanout<Item, From extends Source<Item, From>> = ReturnType<
  typeof createFanout<Item, From>
>

/** Makes the groups of subscribers to sources of one kind. */
export function createFanout<Item, From extends Source<Item, From>>() {
  type Group = FanoutGroup<Item, From>
  const groups = new Set<Group>()
  const byKey = new Map<string, Set<Group>>()
  const groupOf = new Map<Subscriber<Item, From>, Group>()
  /** Groups that are still to be advanced in this round. */
  let queue: Group[] = []

  function enter(subscriber: Subscriber<Item, From>, group: Group): void {
    group.subscribers.add(subscriber)
    group.late.add(subscriber)
    groupOf.set(subscriber, group)
  }

  /** Puts a subscriber into a group of its own. Sources with different keys never share items. */
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

  /** Removes a subscriber from those that are owed items; returns true if it was one. */
  function forgive({ owed }: Group, subscriber: Subscriber<Item, From>): boolean {
    const index = owed.indexOf(subscriber)
    if (index >= 0) owed.splice(index, 1)
    return index >= 0
  }

  /** Passes all items that were read to a subscriber; returns the source that it follows. */
  function settle(subscriber: Subscriber<Item, From>): From | undefined {
    const group = groupOf.get(subscriber)
    if (group === undefined) return undefined
    if (forgive(group, subscriber)) give(group, subscriber)
    return group.source
  }

  /** Settles a subscriber and moves it to its own group; returns its source. */
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

  /** Reads more for subscribers that have room; returns false if none has. */
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

  /** Returns true if there may be more to read at once. */
  function advance(group: Group, isOver: () => boolean): boolean {
    if (group.owed.length === 0 && !read(group)) return false
    if (group.owed.length > 0) handOn(group, isOver)
    return group.source.hasMore
  }

  /** Merges groups that are in step. */
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
     * Passes on new items until `isOver`; the next call resumes where this one stopped. Returns
     * true if items remain.
     */
    tick(isOver: () => boolean): boolean {
      if (queue.length === 0) queue = [...groups]
      const advanced: Group[] = []
      for (let group = queue.pop(); group; group = queue.pop()) {
        if (!groups.has(group)) continue
        const hasMore = advance(group, isOver)
        advanced.push(group)
        // Items that some subscribers lack come first; reading more waits its turn.
        if (group.owed.length > 0) queue.push(group)
        else if (hasMore) queue.unshift(group)
        if (isOver()) break
      }
      merge(advanced)
      return queue.length > 0
    },
  }
}
