/** Says what is wrong with a snapshot in words for the person who made it. */
export class SnapshotFault extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'SnapshotFault'
  }
}
