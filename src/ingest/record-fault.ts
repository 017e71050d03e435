/** Says what is wrong with a record of a market in words for the person who made it. */
export class RecordFault extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'RecordFault'
  }
}
