/** Where backups are kept. */

/** Things by name, such as `blocks/ab…`; each is there whole, or not at all. */
export type BackupStore = {
  /** Names and sizes in bytes of what begins with a text. */
  list(prefix: string): Promise<Map<string, number>>
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array>
  remove(name: string): Promise<void>
}
