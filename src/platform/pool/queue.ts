/**
 * A fair queue: round-robin by account within a level. Lower levels go first; while both wait, every
 * fourth turn goes to the next level.
 */

/** Turns of a level before the next level has one. */
const TURNS_BEFORE_NEXT = 3

/** The account that waits, and its level. */
export type By = { owner: string; level: number }

/** Waiting items of a level by owner, and its turns since the next level had one. */
type Level<Item> = { owners: Map<string, Item[]>; turns: number }

export function createFairQueue<Item>() {
  const levels: Level<Item>[] = []
  let size = 0

  function levelAt(level: number): Level<Item> {
    while (levels.length <= level) levels.push({ owners: new Map(), turns: 0 })
    return levels[level] as Level<Item>
  }

  /** Takes the first item that fits, and puts its owner behind the others of the level. */
  function takeFrom({ owners }: Level<Item>, fits: (item: Item) => boolean): Item | undefined {
    for (const [owner, items] of owners) {
      const at = items.findIndex(fits)
      if (at < 0) continue
      const [item] = items.splice(at, 1)
      owners.delete(owner)
      if (items.length > 0) owners.set(owner, items)
      size--
      return item
    }
    return undefined
  }

  /** Levels with waiting items; the one whose turn it is comes first. */
  function inOrder(): Level<Item>[] {
    const waiting = levels.filter(({ owners }) => owners.size > 0)
    const due = waiting.find(({ turns }) => turns < TURNS_BEFORE_NEXT) ?? waiting[0]
    return due === undefined ? [] : [due, ...waiting.filter((level) => level !== due)]
  }

  return {
    put({ owner, level }: By, item: Item): void {
      const { owners } = levelAt(level)
      const items = owners.get(owner)
      if (items === undefined) owners.set(owner, [item])
      else items.push(item)
      size++
    },

    /** Takes the next item that fits; undefined where none does. */
    take(fits: (item: Item) => boolean = () => true): Item | undefined {
      const waiting = inOrder()
      for (const level of waiting) {
        const item = takeFrom(level, fits)
        if (item === undefined) continue
        for (const before of levels.slice(0, levels.indexOf(level))) before.turns = 0
        if (waiting.length > 1) level.turns++
        return item
      }
      return undefined
    },

    /** Removes an item; returns true if it was waiting. */
    remove(item: Item): boolean {
      return levels.some((level) => takeFrom(level, (each) => each === item) !== undefined)
    },

    get size(): number {
      return size
    },
  }
}
